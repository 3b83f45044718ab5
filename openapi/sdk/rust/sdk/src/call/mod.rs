pub(crate) mod attempt;
mod connect;
pub(crate) mod operation;
mod reply;
mod retry;
// {{#events}}
pub(crate) mod stream;
// {{/events}}
pub(crate) mod transport;

use std::{
    fmt,
    future::{Future, IntoFuture},
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    Listing, Page, Response,
    client::{
        self, Shared,
        options::{Options, option_methods},
    },
    clock::BoxFuture,
    error::{Error, Fault},
};
use attempt::Attempt;
pub(crate) use connect::ConnectTimeoutLayer;
use operation::Operation;
use reply::Asked;
use retry::wait_after;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const RETRY_COUNT: HeaderName = HeaderName::from_static("x-retry-count");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A call that is sent when it is awaited. Dropped, it is cancelled.
///
/// ```ignore
/// let game = gateway.game().create(input).timeout(Duration::from_secs(5)).await?;
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<T> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) operation: Operation,
    pub(crate) input: Map<String, Value>,
    pub(crate) options: Options,
    decode: Decode<T>,
}

/// Sets a member that the caller doesn't.
fn fill_in(input: &mut Map<String, Value>, name: &str, value: u32) {
    if input.get(name).is_none_or(Value::is_null) {
        input.insert(name.into(), value.into());
    }
}

type Decode<T> = fn(Map<String, Value>, &Call<T>) -> Result<T, serde_path_to_error::Error<serde_json::Error>>;

impl<T> Clone for Call<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            operation: self.operation.clone(),
            input: self.input.clone(),
            options: self.options.clone(),
            decode: self.decode,
        }
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("operation", &self.operation.id)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<T: DeserializeOwned> Call<T> {
    pub(crate) fn new(shared: &Arc<Shared>, operation: &Operation, input: &impl Serialize) -> Self {
        Self::with(shared, operation, input, |output, _| serde_path_to_error::deserialize(Value::Object(output)))
    }
}

impl<T: Listing> Call<Page<T>> {
    pub(crate) fn page(shared: &Arc<Shared>, operation: &Operation, input: &impl Serialize) -> Self {
        let mut call = Self::with(shared, operation, input, |output, call| {
            Ok(Page::new(serde_path_to_error::deserialize(Value::Object(output))?, call.clone()))
        });
        if call.input.get("cursor").is_none_or(Value::is_null) {
            fill_in(&mut call.input, "page", 1);
        }
        call
    }
}

impl<T> Call<T> {
    fn with(shared: &Arc<Shared>, operation: &Operation, input: &impl Serialize, decode: Decode<T>) -> Self {
        let mut options = Options::default();
        let input = match serde_json::to_value(input) {
            Ok(Value::Object(input)) => input,
            Ok(Value::Null) => Map::new(),
            Ok(_) => {
                options.fault = Some("the input is no object of JSON".into());
                Map::new()
            }
            Err(error) => {
                options.fault = Some(format!("the input cannot be written as JSON: {error}"));
                Map::new()
            }
        };
        Self { shared: Arc::clone(shared), operation: operation.clone(), input, options, decode }
    }

    option_methods!(options);

    /// With this size of a list, unless the caller names one.
    pub(crate) fn with_limit(mut self, limit: u32) -> Self {
        fill_in(&mut self.input, "limit", limit);
        self
    }

    /// The `Idempotency-Key` of a write, a value of your own: called again with the same one, it is not done again, but
    /// answered the same. A new UUID unless set. Reads send none.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.options.idempotency_key(key.into());
        self
    }

    /// The call, which then answers status, headers and the like along with the output.
    pub fn with_response(self) -> WithResponse<T> {
        WithResponse(self)
    }

    /// Sends it, again and again if need be.
    async fn send(&self) -> Result<Response<T>, Error> {
        self.check()?;
        let headers = self.headers()?;
        let idempotency_key = match self.operation.writes {
            true => headers.get(IDEMPOTENCY_KEY).and_then(|value| value.to_str().ok()).map(str::to_owned),
            false => None,
        };
        let body = json!({ "json": self.input }).to_string();
        let (call, text, key) = (self, body.as_str(), idempotency_key.as_deref());
        let attempt = move |headers, attempts| async move { call.attempt(&headers, text, attempts, key).await };
        self.attempts(headers, true, attempt).await
    }

    /// Whether it can work as it was given.
    fn check(&self) -> Result<(), Error> {
        self.options.fault.clone().map_or(Ok(()), |fault| Err(Error::Usage(fault)))
    }

    /// Attempts something until it succeeds, or until that is of no use.
    async fn attempts<R, F: Future<Output = Result<Response<R>, Error>>>(
        &self,
        mut headers: HeaderMap,
        takes_turn: bool,
        attempt: impl Fn(HeaderMap, u32) -> F,
    ) -> Result<Response<R>, Error> {
        let retries = self.options.max_retries.or(self.shared.options.max_retries).unwrap_or(client::MAX_RETRIES);
        let mut attempts = 0;
        loop {
            attempts += 1;
            if attempts > 1 {
                headers.insert(RETRY_COUNT, HeaderValue::from(attempts - 1));
            }
            let turn = if takes_turn { Some(self.shared.turns.acquire().await) } else { None };
            let began = Instant::now();
            let result = attempt(headers.clone(), attempts).await;
            drop(turn);
            let wait = match &result {
                Err(error) if attempts <= retries => wait_after(error, attempts),
                _ => None,
            };
            self.shared.observer.tell(|| Attempt::new(&self.operation, attempts, &result, began.elapsed(), wait));
            match wait {
                Some(wait) => self.shared.clock.sleep(wait).await,
                None => return result,
            }
        }
    }

    /// What is sent along: ours, the client's, the call's; the later wins.
    fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON);
        headers.insert(USER_AGENT, self.shared.user_agent.clone());
        if self.operation.writes {
            let key = self.options.idempotency_key.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
            let fault = |_| Error::Usage("the idempotency key has characters that no header can hold".into());
            headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_str(&key).map_err(fault)?);
        }
        if let Some(authorization) = &self.shared.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        headers.extend(self.shared.options.headers.clone());
        headers.extend(self.options.headers.clone());
        Ok(headers)
    }

    async fn attempt(
        &self,
        headers: &HeaderMap,
        body: &str,
        attempts: u32,
        idempotency_key: Option<&str>,
    ) -> Result<Response<T>, Error> {
        let reply = self.fetch(headers, body).await.map_err(|cause| self.failure(cause, attempts, idempotency_key))?;
        let asked = self.asked(headers, idempotency_key, attempts);
        let output = reply.output(asked)?;
        // Followed, it would lead here for ever.
        if output.get("nextCursor").is_some_and(|next| next.is_string() && Some(next) == self.input.get("cursor")) {
            return Err(reply.unexpected(asked, Fault::SameCursor));
        }
        let data = (self.decode)(output, self).map_err(|error| reply.unexpected(asked, Fault::unreadable(&error)))?;
        let text = reply.text();
        Ok(Response::new(data, reply.status, reply.headers, attempts, text))
    }

    /// Which call a reply is to.
    fn asked<'a>(&'a self, headers: &HeaderMap, idempotency_key: Option<&'a str>, attempts: u32) -> Asked<'a> {
        let Shared { origin, base_url, clock, .. } = &*self.shared;
        Asked {
            operation: &self.operation,
            has_key: headers.contains_key(AUTHORIZATION),
            origin,
            address: base_url,
            idempotency_key,
            attempts,
            now: clock.now(),
        }
    }

    /// How long an attempt may take.
    pub(crate) fn timeout_of_attempt(&self) -> Duration {
        self.options.timeout.or(self.shared.options.timeout).unwrap_or(client::TIMEOUT)
    }

    /// How long it may take to connect.
    fn timeout_of_connecting(&self) -> Duration {
        self.options.connect_timeout.or(self.shared.options.connect_timeout).unwrap_or(client::CONNECT_TIMEOUT)
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.send().await?.data) })
    }
}

/// A [`Call`] that answers status, headers and the like along with its output.
#[derive(Clone, Debug)]
#[must_use = "a call is sent when it is awaited"]
pub struct WithResponse<T>(Call<T>);

impl<T: Send + 'static> IntoFuture for WithResponse<T> {
    type Output = Result<Response<T>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.0.send().await })
    }
}
