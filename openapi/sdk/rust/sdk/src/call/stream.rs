// {{#events}}
//! Streams of Server-Sent Events (HTML, section 9.2).

use std::{collections::VecDeque, error::Error as StdError, fmt, mem::take, time::Duration};

use reqwest::{
    Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt;

use super::{
    Call,
    connect::CONNECT_TIMEOUT,
    reply::Reply,
    retry::{RETRIED, backoff, should_retry},
    transport::{BoxError, check_runtime, whole},
};
use crate::{
    Response,
    client::Shared,
    error::{Error, Fault, media_type},
};

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
/// No message of the gateway comes near this, in bytes.
const LONGEST_MESSAGE: usize = 64 * 1024 * 1024;
/// A longer time is not waited for.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// One message of a stream.
pub(crate) struct Message {
    /// Its type; empty for the usual one.
    pub(crate) event: String,
    pub(crate) data: String,
    /// That of the last message that had one.
    pub(crate) id: Option<String>,
}

impl Message {
    fn is_failure(&self) -> bool {
        self.event == "serialized-error"
    }
}

/// Why there are no more messages.
#[derive(Debug)]
pub(crate) struct StreamEnded;

impl fmt::Display for StreamEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stream ended before its first message")
    }
}

impl StdError for StreamEnded {}

/// An open stream. Dropped, it is left.
pub(crate) struct EventStream {
    response: reqwest::Response,
    headers: HeaderMap,
    parser: Parser,
}

impl EventStream {
    fn new(response: reqwest::Response) -> Self {
        Self { headers: response.headers().clone(), response, parser: Parser::default() }
    }

    /// The next message; an error if the stream is at its end.
    pub(crate) async fn next(&mut self) -> Result<Message, BoxError> {
        loop {
            if let Some(message) = self.parser.messages.pop_front() {
                return Ok(message);
            }
            let chunk = self.response.chunk().await.map_err(reqwest::Error::without_url)?;
            self.parser.read(&chunk.ok_or(StreamEnded)?)?;
        }
    }

    /// The same, unless nothing comes for too long.
    pub(crate) async fn next_within(&mut self, silence: Duration) -> Result<Message, BoxError> {
        timeout(silence, self.next()).await?
    }

    /// How long to stay away after a break.
    pub(crate) fn pause(&self) -> Duration {
        self.parser.retry.filter(|told| *told < LONGEST_RETRY).unwrap_or_else(|| backoff(1))
    }

    /// The reply that a message of a failure stands for.
    fn refusal(&self, message: &Message) -> Reply {
        let failure = serde_json::from_str::<Value>(&message.data).unwrap_or_default();
        let status = failure["json"]["data"]["httpStatus"].as_u64().and_then(|status| u16::try_from(status).ok());
        let status = status.filter(|status| *status >= 400).unwrap_or(500);
        let mut headers = self.headers.clone();
        if let Some(retry) = self.parser.retry.filter(|_| RETRIED.contains(&status)) {
            let seconds = HeaderValue::try_from(retry.as_secs_f64().to_string());
            headers.extend(seconds.ok().map(|seconds| (RETRY_AFTER, seconds)));
        }
        Reply { status, headers, body: json!({ "error": failure }).to_string().into_bytes(), is_too_long: false }
    }
}

#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    /// Whether a line feed belongs to the line before.
    after_cr: bool,
    event: String,
    data: Option<String>,
    id: Option<String>,
    retry: Option<Duration>,
    /// What is read and not taken.
    messages: VecDeque<Message>,
}

impl Parser {
    fn read(&mut self, chunk: &[u8]) -> Result<(), BoxError> {
        for byte in chunk {
            let is_rest = *byte == b'\n' && self.after_cr;
            self.after_cr = *byte == b'\r';
            match *byte {
                _ if is_rest => {}
                b'\n' | b'\r' => {
                    let line = take(&mut self.line);
                    self.read_line(&String::from_utf8_lossy(&line));
                }
                byte => self.line.push(byte),
            }
        }
        match self.line.len() + self.data.as_ref().map_or(0, String::len) > LONGEST_MESSAGE {
            true => Err("a message of more than 64 MiB".into()),
            false => Ok(()),
        }
    }

    fn read_line(&mut self, line: &str) {
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if line.is_empty() {
            let event = take(&mut self.event);
            if let Some(data) = self.data.take() {
                self.messages.push_back(Message { event, data, id: self.id.clone() });
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.event = value.into(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.into()),
            },
            "id" if !value.is_empty() && !value.contains('\0') => self.id = Some(value.into()),
            "retry" => {
                let millis = value.parse::<u32>().ok();
                self.retry = millis.map(|millis| Duration::from_millis(millis.into())).or(self.retry);
            }
            // A comment, or newer than this.
            _ => {}
        }
    }
}

/// What came of a request for a stream.
enum Came {
    Stream(Box<EventStream>, Message),
    Reply(Reply),
}

impl<T> Call<T> {
    /// Opens the stream of an operation, as often as calls are tried. An attempt lasts until the first message.
    pub(crate) async fn open(&self) -> Result<(Box<EventStream>, Message), Error> {
        self.check()?;
        let mut headers = self.headers()?;
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, EVENT_STREAM);
        let opened = self.attempts(headers, false, |headers, attempts| self.open_once(headers, attempts)).await?;
        Ok(opened.data)
    }

    async fn open_once(
        &self,
        headers: HeaderMap,
        attempts: u32,
    ) -> Result<Response<(Box<EventStream>, Message)>, Error> {
        let asked = self.asked(&headers, None, attempts);
        let came = match check_runtime() {
            Ok(()) => timeout(self.timeout_of_attempt(), self.ask(&headers)).await.map_err(BoxError::from).and_then(|came| came),
            Err(fault) => Err(fault),
        };
        let came = came.map_err(|cause| self.failure(cause, attempts, None))?;
        match came {
            Came::Stream(stream, first) if first.is_failure() => {
                Err(stream.refusal(&first).output(asked).err().unwrap_or(Error::Usage(String::new())))
            }
            Came::Stream(stream, first) => {
                let headers = stream.headers.clone();
                Ok(Response::new((stream, first), 200, headers, attempts, String::new()))
            }
            Came::Reply(reply) if reply.status == 200 => Err(reply.unexpected(asked, Fault::NoStream)),
            Came::Reply(reply) => match reply.output(asked) {
                Err(error) => Err(error),
                Ok(_) => Err(reply.unexpected(asked, Fault::NoStream)),
            },
        }
    }

    async fn ask(&self, headers: &HeaderMap) -> Result<Came, BoxError> {
        let Shared { http, service, base_url, .. } = &*self.shared;
        let mut url = Url::parse(&format!("{base_url}{}", self.operation.path))?;
        url.query_pairs_mut().append_pair("input", &json!({ "json": self.input }).to_string());
        let request = http.get(url).headers(headers.clone()).build().map_err(reqwest::Error::without_url)?;
        let response =
            CONNECT_TIMEOUT.scope(self.timeout_of_connecting(), service.clone().oneshot(request)).await?;
        let is_stream = response.status() == 200
            && media_type(response.headers()).is_some_and(|media_type| media_type == EVENT_STREAM);
        if !is_stream {
            return Ok(Came::Reply(whole(response).await?));
        }
        let mut stream = Box::new(EventStream::new(response));
        let first = stream.next().await?;
        Ok(Came::Stream(stream, first))
    }

    /// What a message of an open stream says: its data, unless it is no event; a failure; or none, if the failure may pass.
    pub(crate) fn told(&self, stream: &EventStream, message: &Message) -> Result<Told, Error> {
        if !message.is_failure() {
            return Ok(if message.event.is_empty() { Told::Event } else { Told::Other });
        }
        let headers = HeaderMap::new();
        match stream.refusal(message).output(self.asked(&headers, None, 1)) {
            Err(Error::Api(error)) if should_retry(&error) => Ok(Told::Break),
            Err(error) => Err(error),
            Ok(_) => Ok(Told::Break),
        }
    }

    /// That the data of an event cannot be read.
    pub(crate) fn unreadable(
        &self,
        stream: &EventStream,
        message: &Message,
        error: &serde_path_to_error::Error<serde_json::Error>,
    ) -> Error {
        let headers = HeaderMap::new();
        let body = message.data.clone().into_bytes();
        let reply = Reply { status: 200, headers: stream.headers.clone(), body, is_too_long: false };
        reply.unexpected(self.asked(&headers, None, 1), Fault::unreadable(error))
    }
}

/// What a message is.
pub(crate) enum Told {
    Event,
    Other,
    Break,
}

/// The next message of a stream, which is given back with it.
pub(crate) async fn read_on(
    mut stream: Box<EventStream>,
    silence: Duration,
) -> (Box<EventStream>, Result<Message, BoxError>) {
    let message = stream.next_within(silence).await;
    (stream, message)
}
// {{/events}}
