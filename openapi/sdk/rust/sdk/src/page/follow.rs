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
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Call,
    call::{
        operation::Operation,
        stream::{EventStream, Message, StreamEnded, Told, read_on},
        transport::BoxError,
    },
    client::options::option_methods,
    clock::BoxFuture,
    error::Error,
};

/// How long to wait for more events, unless the caller says.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long a stream may be silent, unless the caller says. The service says something every ten seconds.
const SILENCE: Duration = Duration::from_secs(30);
/// How long to wait for the first message of a stream, where there are pages.
const LONGEST_OPENING: Duration = Duration::from_secs(10);
/// How many pages are asked for before a stream that could not be opened is tried again.
const POLLS_BETWEEN: u32 = 30;

/// An output that is a part of a feed.
pub trait Feed: DeserializeOwned + Send + Unpin + 'static {
    /// What it tells of.
    type Event: DeserializeOwned + Send + Unpin + 'static;

    /// The cursor behind this part.
    fn next_cursor(&self) -> &str;

    /// Whether there are more events already.
    fn has_more(&self) -> bool;

    /// The events of this part.
    fn into_events(self) -> Vec<Self::Event>;
}

/// The events of a feed without end, the oldest first, as a [`Stream`]. When there are no more for now, it waits for them, until it
/// is dropped. They come as they happen, over a connection that is opened anew when it breaks; where there is none, a page
/// after the other is fetched, and retried as any call. After an error, such as `EVENTS_GONE`, which comes after the events
/// before it, there is no more.
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
    silence: Duration,
    /// Opens the stream.
    tail: Operation,
    /// Whether pages are asked for where there is no stream.
    has_pages: bool,
    /// How many of them are, before the stream is tried; `u32::MAX` for all.
    polls: u32,
    /// The id of the event that was handed out last, until the next one is asked for.
    taken: Option<String>,
}

enum State<T: Feed> {
    Waiting,
    Opening(BoxFuture<'static, Result<(Box<EventStream>, Message), Error>>),
    Reading(BoxFuture<'static, (Box<EventStream>, Result<Message, BoxError>)>),
    Fetching(BoxFuture<'static, Result<T, Error>>),
    Taking { events: vec::IntoIter<T::Event>, next_cursor: String, pauses: bool },
    Pausing(BoxFuture<'static, ()>),
    AtEnd,
}

impl<T: Feed> Follow<T> {
    pub(crate) fn new(mut call: Call<T>, tail: &Operation, has_pages: bool) -> Self {
        if ["after", "start"].iter().all(|name| call.input.get(*name).is_none_or(Value::is_null)) {
            call.input.insert("start".into(), "latest".into());
        }
        Self {
            call,
            state: State::Waiting,
            cursor: None,
            poll_interval: POLL_INTERVAL,
            silence: SILENCE,
            tail: tail.clone(),
            has_pages,
            polls: 0,
            taken: None,
        }
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

    /// After what time without a message a stream is given up, and opened anew; 30 s unless set.
    pub fn silence(mut self, silence: Duration) -> Self {
        if silence.is_zero() {
            self.call.options.fault = Some("the silence must be more than 0".into());
        }
        self.silence = silence;
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

    fn pause(&self, pause: Duration) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.call.shared);
        Box::pin(async move { shared.clock.sleep(pause).await })
    }

    /// What is behind the cursor has been taken.
    fn go_on_from(&mut self, cursor: String) {
        self.call.input.remove("start");
        self.call.input.insert("after".into(), cursor.as_str().into());
        self.cursor = Some(cursor);
    }

    /// Opens the stream, or asks for a page.
    fn ask(&mut self) -> State<T> {
        if self.polls == 0 {
            return State::Opening(self.open());
        }
        self.polls -= u32::from(self.polls != u32::MAX);
        State::Fetching(self.call.clone().into_future())
    }

    fn open(&self) -> BoxFuture<'static, Result<(Box<EventStream>, Message), Error>> {
        let mut call = self.call.clone();
        call.operation = self.tail.clone();
        call.input.remove("limit");
        if self.has_pages {
            call.options.max_retries = Some(0);
            call.options.timeout = Some(call.timeout_of_attempt().min(LONGEST_OPENING));
        }
        Box::pin(async move { call.open().await })
    }

    /// What to do with what came by a stream: what is next, and what to hand out.
    fn received(
        &mut self,
        stream: Box<EventStream>,
        came: Result<Message, BoxError>,
    ) -> (State<T>, Option<Result<T::Event, Error>>) {
        let Ok(message) = came else { return (State::Pausing(self.pause(stream.pause())), None) };
        let mut call = self.call.clone();
        call.operation = self.tail.clone();
        match call.told(&stream, &message) {
            Err(error) => (State::AtEnd, Some(Err(error))),
            Ok(Told::Break) => (State::Pausing(self.pause(stream.pause())), None),
            Ok(Told::Other) => {
                message.id.into_iter().for_each(|id| self.go_on_from(id));
                (State::Reading(Box::pin(read_on(stream, self.silence))), None)
            }
            Ok(Told::Event) => {
                let mut data = serde_json::Deserializer::from_str(&message.data);
                match serde_path_to_error::deserialize::<_, Data<T::Event>>(&mut data) {
                    Err(error) => (State::AtEnd, Some(Err(call.unreadable(&stream, &message, &error)))),
                    Ok(Data { json }) => {
                        self.taken = message.id;
                        (State::Reading(Box::pin(read_on(stream, self.silence))), Some(Ok(json)))
                    }
                }
            }
        }
    }
}

impl<T: Feed> Stream for Follow<T> {
    type Item = Result<T::Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(id) = self.taken.take() {
            self.go_on_from(id);
        }
        loop {
            self.state = match &mut self.state {
                State::AtEnd => return Poll::Ready(None),
                State::Waiting => self.ask(),
                State::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok((stream, first)) => match self.received(stream, Ok(first)) {
                        (state, None) => state,
                        (state, event) => {
                            self.state = state;
                            return Poll::Ready(event);
                        }
                    },
                    Err(error) if self.has_pages && !matches!(error, Error::Usage(_)) => {
                        self.polls = if may_have_stream(&error) { POLLS_BETWEEN } else { u32::MAX };
                        State::Waiting
                    }
                    Err(error) => {
                        self.state = State::AtEnd;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
                State::Reading(reading) => {
                    let (stream, came) = ready!(reading.as_mut().poll(context));
                    match self.received(stream, came) {
                        (state, None) => state,
                        (state, event) => {
                            self.state = state;
                            return Poll::Ready(event);
                        }
                    }
                }
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
                    self.go_on_from(next_cursor);
                    if pauses { State::Pausing(self.pause(self.poll_interval)) } else { State::Waiting }
                }
                State::Pausing(pausing) => {
                    ready!(pausing.as_mut().poll(context));
                    State::Waiting
                }
            };
        }
    }
}

/// What the data of an event is in.
#[derive(Deserialize)]
struct Data<E> {
    json: E,
}

/// Whether there may be a stream, although it could not be opened.
fn may_have_stream(error: &Error) -> bool {
    match error {
        Error::Api(error) => !matches!(error.status, 404 | 405),
        Error::Timeout(error) => error.while_connecting,
        Error::Connection(error) => !error.cause.is::<StreamEnded>(),
        _ => false,
    }
}

impl<T: Feed> fmt::Debug for Follow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("call", &self.call).field("cursor", &self.cursor).finish_non_exhaustive()
    }
}
// {{/events}}
