// {{#events}}
use std::{
    fmt,
    future::{IntoFuture, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
    vec,
};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Call, client::options::option_methods, clock::BoxFuture, error::Error};

/// How long to wait for more events, unless the caller says.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// An output that is a part of a feed.
pub trait Feed: DeserializeOwned + Send + Unpin + 'static {
    /// What it tells of.
    type Event: Send + Unpin + 'static;

    /// The cursor behind this part.
    fn next_cursor(&self) -> &str;

    /// Whether there are more events already.
    fn has_more(&self) -> bool;

    /// The events of this part.
    fn into_events(self) -> Vec<Self::Event>;
}

/// The events of a feed without end, the oldest first, as a [`Stream`]. When there are no more for now, it waits and asks again,
/// until it is dropped. A page is fetched when its first event is asked for, and retried as any call. After an error, such as
/// `EVENTS_GONE`, which comes after the events before it, there is no more.
///
/// After a restart from [`cursor`](Self::cursor), an event may come again: each comes at least once.
///
/// [`next`](Self::next) does without the traits of the futures crates.
#[must_use = "nothing is fetched before the first event is asked for"]
pub struct Follow<T: Feed> {
    /// That of the next page.
    call: Call<T>,
    state: State<T>,
    cursor: Option<String>,
    poll_interval: Duration,
}

enum State<T: Feed> {
    Waiting,
    Fetching(BoxFuture<'static, Result<T, Error>>),
    Taking { events: vec::IntoIter<T::Event>, next_cursor: String, pauses: bool },
    Pausing(BoxFuture<'static, ()>),
    AtEnd,
}

impl<T: Feed> Follow<T> {
    pub(crate) fn new(mut call: Call<T>) -> Self {
        if ["after", "start"].iter().all(|name| call.input.get(*name).is_none_or(Value::is_null)) {
            call.input.insert("start".into(), "latest".into());
        }
        Self { call, state: State::Waiting, cursor: None, poll_interval: POLL_INTERVAL }
    }

    option_methods!(call.options);

    /// How long to wait before asking again, when there are no more events for now; 1 s unless set.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        if interval.is_zero() {
            self.call.options.fault = Some("the poll interval must be more than 0".into());
        }
        self.poll_interval = interval;
        self
    }

    /// From where to go on after a restart, as `after` of the input: behind the last page whose events have all been taken,
    /// which the caller shows by asking for the next one. None before there is such a page.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// The next event, which may take long; none after an error.
    pub async fn next(&mut self) -> Option<Result<T::Event, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// What to do with a page.
    fn taking(&self, page: T) -> State<T> {
        let next_cursor = page.next_cursor().to_owned();
        // A cursor that leads to itself is not asked for without a pause.
        let leads_on = self.call.input.get("after").is_none_or(|after| *after != next_cursor);
        let pauses = !(page.has_more() && leads_on);
        State::Taking { events: page.into_events().into_iter(), next_cursor, pauses }
    }

    fn pause(&self) -> BoxFuture<'static, ()> {
        let (shared, interval) = (Arc::clone(&self.call.shared), self.poll_interval);
        Box::pin(async move { shared.clock.sleep(interval).await })
    }
}

impl<T: Feed> Stream for Follow<T> {
    type Item = Result<T::Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            self.state = match &mut self.state {
                State::AtEnd => return Poll::Ready(None),
                State::Waiting => State::Fetching(self.call.clone().into_future()),
                State::Fetching(fetching) => match ready!(fetching.as_mut().poll(context)) {
                    Ok(page) => self.taking(page),
                    Err(error) => {
                        self.state = State::AtEnd;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
                State::Taking { events, next_cursor, pauses } => {
                    if let Some(event) = events.next() {
                        return Poll::Ready(Some(Ok(event)));
                    }
                    let (next_cursor, pauses) = (std::mem::take(next_cursor), *pauses);
                    self.call.input.remove("start");
                    self.call.input.insert("after".into(), next_cursor.as_str().into());
                    self.cursor = Some(next_cursor);
                    if pauses { State::Pausing(self.pause()) } else { State::Waiting }
                }
                State::Pausing(pausing) => {
                    ready!(pausing.as_mut().poll(context));
                    State::Waiting
                }
            };
        }
    }
}

impl<T: Feed> fmt::Debug for Follow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("call", &self.call).field("cursor", &self.cursor).finish_non_exhaustive()
    }
}
// {{/events}}
