use std::{
    fmt,
    future::{IntoFuture, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use futures_core::Stream;

use super::{Listing, Page};
use crate::{Call, client::options::option_methods, clock::BoxFuture, error::Error};

/// How many records a page holds where the caller doesn't say.
const LIMIT: u32 = 100;

/// All pages of a list, as a [`Stream`]. A page is fetched when it is asked for, and retried as any call. After an error, which
/// comes after the pages before it, there is no more.
///
/// [`next`](Self::next) does without the traits of the futures crates.
#[must_use = "nothing is fetched before the first page is asked for"]
pub struct ListPages<T: Listing> {
    /// That of the next page.
    call: Call<Page<T>>,
    state: State<T>,
}

enum State<T: Listing> {
    Waiting,
    Fetching(BoxFuture<'static, Result<Page<T>, Error>>),
    AtEnd,
}

impl<T: Listing> ListPages<T> {
    pub(crate) fn new(call: Call<Page<T>>) -> Self {
        Self { call: call.with_limit(LIMIT), state: State::Waiting }
    }

    option_methods!(call.options);

    /// The next page; none at the end.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<T: Listing> Stream for ListPages<T> {
    type Item = Result<Page<T>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let page = match &mut self.state {
                State::AtEnd => return Poll::Ready(None),
                State::Fetching(fetching) => ready!(fetching.as_mut().poll(context)),
                State::Waiting => {
                    self.state = State::Fetching(self.call.clone().into_future());
                    continue;
                }
            };
            self.state = State::AtEnd;
            if let Some(next) = page.as_ref().ok().and_then(Page::next_page) {
                self.call = next;
                self.state = State::Waiting;
            }
            return Poll::Ready(Some(page));
        }
    }
}

impl<T: Listing> fmt::Debug for ListPages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListPages").field("call", &self.call).finish_non_exhaustive()
    }
}

/// All records of a list, as a [`Stream`]. A page is fetched when its first record is asked for, and retried as any call.
/// After an error, which comes after the records before it, there is no more.
///
/// [`next`](Self::next) does without the traits of the futures crates.
#[must_use = "nothing is fetched before the first record is asked for"]
pub struct ListAll<T: Listing> {
    records: vec::IntoIter<T::Record>,
    pages: ListPages<T>,
    /// How many records may still come.
    left: u64,
}

impl<T: Listing> ListAll<T> {
    pub(crate) fn new(call: Call<Page<T>>) -> Self {
        Self { records: Vec::new().into_iter(), pages: ListPages::new(call), left: u64::MAX }
    }

    option_methods!(pages.call.options);

    /// How many records may come, 1 or more; no page is fetched beyond them. All come unless set. The `limit` of the input is
    /// but the size of a page.
    pub fn max_records(mut self, most: u64) -> Self {
        match most {
            0 => self.pages.call.options.fault = Some("max_records must be 1 or more".into()),
            _ => self.left = most,
        }
        self
    }

    /// The next record; none at the end.
    pub async fn next(&mut self) -> Option<Result<T::Record, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<T: Listing> Stream for ListAll<T> {
    type Item = Result<T::Record, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while self.left > 0 {
            if let Some(record) = self.records.next() {
                self.left -= 1;
                return Poll::Ready(Some(Ok(record)));
            }
            match ready!(Pin::new(&mut self.pages).poll_next(context)) {
                Some(Ok(page)) => self.records = page.into_inner().into_records().into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => break,
            }
        }
        Poll::Ready(None)
    }
}

impl<T: Listing> fmt::Debug for ListAll<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListAll").field("call", &self.pages.call).finish_non_exhaustive()
    }
}
