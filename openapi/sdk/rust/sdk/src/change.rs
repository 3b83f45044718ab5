use serde::{Deserialize, Serialize};

/// What an update does to a text or a list that can be cleared; `None` leaves it as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    into = "Option<T>",
    from = "Option<T>",
    bound(serialize = "T: Clone + Serialize", deserialize = "T: Deserialize<'de>")
)]
pub enum Change<T = String> {
    /// Takes it away.
    Clear,
    /// Puts this in its place.
    To(T),
}

impl<T> From<Change<T>> for Option<T> {
    fn from(change: Change<T>) -> Self {
        match change {
            Change::Clear => None,
            Change::To(value) => Some(value),
        }
    }
}

impl<T> From<Option<T>> for Change<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::To)
    }
}
