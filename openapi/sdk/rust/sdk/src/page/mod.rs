use std::{
    fmt,
    future::{IntoFuture, poll_fn},
    ops::Deref,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Call, client::options::option_methods, clock::BoxFuture, error::Error};

/// How many records a page holds where the caller doesn't say.
const LIMIT: u32 = 100;

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

/// All records of a list, as a [`Stream`]. A page is fetched when its first record is asked for, and retried as any call.
/// After an error, which comes after the records before it, there is no more.
///
/// [`next`](Self::next) does without the traits of the futures crates.
#[must_use = "nothing is fetched before the first record is asked for"]
pub struct ListAll<T: Listing> {
    records: vec::IntoIter<T::Record>,
    /// That of the next page.
    call: Call<Page<T>>,
    state: State<T>,
}

enum State<T: Listing> {
    Waiting,
    Fetching(BoxFuture<'static, Result<Page<T>, Error>>),
    AtEnd,
}

impl<T: Listing> ListAll<T> {
    pub(crate) fn new(mut call: Call<Page<T>>) -> Self {
        fill_in(&mut call.input, "page", 1);
        fill_in(&mut call.input, "limit", LIMIT);
        Self { records: Vec::new().into_iter(), call, state: State::Waiting }
    }

    option_methods!(call.options);

    /// The next record; none at the end.
    pub async fn next(&mut self) -> Option<Result<T::Record, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

fn fill_in(input: &mut Map<String, Value>, name: &str, value: u32) {
    if input.get(name).is_none_or(|given| given.is_null() || *given == 0) {
        input.insert(name.into(), value.into());
    }
}

impl<T: Listing> Stream for ListAll<T> {
    type Item = Result<T::Record, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.records.next() {
                return Poll::Ready(Some(Ok(record)));
            }
            let page = match &mut self.state {
                State::AtEnd => return Poll::Ready(None),
                State::Fetching(fetching) => ready!(fetching.as_mut().poll(context)),
                State::Waiting => {
                    self.state = State::Fetching(self.call.clone().into_future());
                    continue;
                }
            };
            self.state = State::AtEnd;
            let page = match page {
                Ok(page) => page,
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            if let Some(next) = page.next_page() {
                self.call = next;
                self.state = State::Waiting;
            }
            self.records = page.into_inner().into_records().into_iter();
        }
    }
}

impl<T: Listing> fmt::Debug for ListAll<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListAll").field("call", &self.call).finish_non_exhaustive()
    }
}
