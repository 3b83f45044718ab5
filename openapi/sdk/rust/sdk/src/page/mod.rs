// {{#events}}
pub(crate) mod follow;
// {{/events}}
pub(crate) mod walk;

use std::{fmt, ops::Deref};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Call;

/// An output that is one page of a list.
pub trait Listing: DeserializeOwned + Send + 'static {
    /// What it lists.
    type Record: Send + Unpin + 'static;

    /// The cursor of the next page; none at the end.
    fn next_cursor(&self) -> Option<&str>;

    /// The records of this page.
    fn into_records(self) -> Vec<Self::Record>;
}

/// One page of a list, with the members of the output: `page.items`, `page.total`.
#[derive(Clone)]
pub struct Page<T: Listing> {
    output: T,
    call: Call<Page<T>>,
}

impl<T: Listing> Page<T> {
    pub(crate) fn new(output: T, call: Call<Page<T>>) -> Self {
        Self { output, call }
    }

    /// Whether more records follow.
    pub fn has_next_page(&self) -> bool {
        self.output.next_cursor().is_some()
    }

    /// The call for the records that follow, with the same input and options; none at the end.
    pub fn next_page(&self) -> Option<Call<Page<T>>> {
        let cursor = self.output.next_cursor()?;
        let mut call = self.call.clone();
        call.input.insert("cursor".into(), cursor.into());
        if let Some(page) = call.input.get("page").and_then(Value::as_u64) {
            call.input.insert("page".into(), (page + 1).into());
        }
        Some(call)
    }

    /// The output alone.
    pub fn into_inner(self) -> T {
        self.output
    }
}

impl<T: Listing> Deref for Page<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.output
    }
}

impl<T: Listing + fmt::Debug> fmt::Debug for Page<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.output.fmt(f)
    }
}
