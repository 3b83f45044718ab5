use serde::{Deserialize, Serialize};

/// What an update does to a text that can be cleared; `None` leaves it as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Option<String>", from = "Option<String>")]
pub enum Change {
    /// Takes it away.
    Clear,
    /// Puts this in its place.
    To(String),
}

impl From<Change> for Option<String> {
    fn from(change: Change) -> Self {
        match change {
            Change::Clear => None,
            Change::To(text) => Some(text),
        }
    }
}

impl From<Option<String>> for Change {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Clear, Self::To)
    }
}
