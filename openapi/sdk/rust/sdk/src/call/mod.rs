mod connect;
mod reply;
mod retry;

use std::{error::Error as StdError, fmt, future::IntoFuture, io, sync::Arc};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    Listing, Page, RateLimit, Response,
    client::{
        self, Shared,
        options::{Options, option_methods},
    },
    clock::BoxFuture,
    error::{ApiConnectionError, ApiTimeoutError, Error, Fault},
};
pub(crate) use connect::ConnectTimeoutLayer;
use connect::{CONNECT_TIMEOUT, ConnectTimedOut};
use reply::{Asked, Reply};
use retry::wait_after;

const IDENTITY: &str = concat!(
    "{{product}}-rust/",
    env!("CARGO_PKG_VERSION"),
    " (contract {{contract}}; rust ",
    env!("RUST_VERSION"),
    ")"
);
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const RETRY_COUNT: HeaderName = HeaderName::from_static("x-retry-count");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// No reply of the gateway comes near this, in bytes.
const LARGEST_REPLY: usize = 64 * 1024 * 1024;

/// An operation of the contract.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) path: &'static str,
    pub(crate) writes: bool,
    /// What every output has.
    pub(crate) members: &'static [&'static str],
}

/// A call that is sent when it is awaited. Dropped, it is cancelled.
///
/// ```ignore
/// let game = gateway.game().create(input).timeout(Duration::from_secs(5)).await?;
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<T> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) operation: &'static Operation,
    pub(crate) input: Map<String, Value>,
    pub(crate) options: Options,
    decode: Decode<T>,
}

type Decode<T> = fn(Map<String, Value>, &Call<T>) -> serde_json::Result<T>;

impl<T> Clone for Call<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            operation: self.operation,
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
    pub(crate) fn new(shared: &Arc<Shared>, operation: &'static Operation, input: &impl Serialize) -> Self {
        Self::with(shared, operation, input, |output, _| serde_json::from_value(Value::Object(output)))
    }
}

impl<T: Listing> Call<Page<T>> {
    pub(crate) fn page(shared: &Arc<Shared>, operation: &'static Operation, input: &impl Serialize) -> Self {
        Self::with(shared, operation, input, |output, call| {
            Ok(Page::new(serde_json::from_value(Value::Object(output))?, call.clone()))
        })
    }
}

impl<T> Call<T> {
    fn with(shared: &Arc<Shared>, operation: &'static Operation, input: &impl Serialize, decode: Decode<T>) -> Self {
        let mut options = Options::default();
        let input = match serde_json::to_value(input) {
            Ok(Value::Object(input)) => input,
            Ok(_) => Map::new(),
            Err(error) => {
                options.fault = Some(format!("the input cannot be written as JSON: {error}"));
                Map::new()
            }
        };
        Self { shared: Arc::clone(shared), operation, input, options, decode }
    }

    option_methods!(options);

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
        if let Some(fault) = &self.options.fault {
            return Err(Error::Usage(fault.clone()));
        }
        let mut headers = self.headers()?;
        let idempotency_key = match self.operation.writes {
            true => headers.get(IDEMPOTENCY_KEY).and_then(|value| value.to_str().ok()).map(str::to_owned),
            false => None,
        };
        let body = json!({ "json": self.input }).to_string();
        let retries = self.options.max_retries.or(self.shared.options.max_retries).unwrap_or(client::MAX_RETRIES);
        let mut attempts = 0;
        loop {
            attempts += 1;
            if attempts > 1 {
                headers.insert(RETRY_COUNT, HeaderValue::from(attempts - 1));
            }
            let error = match self.attempt(&headers, &body, attempts, idempotency_key.as_deref()).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            match wait_after(&error, attempts) {
                Some(wait) if attempts <= retries => self.shared.clock.sleep(wait).await,
                _ => return Err(error),
            }
        }
    }

    /// What is sent along: ours, the client's, the call's; the later wins.
    fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON);
        headers.insert(USER_AGENT, HeaderValue::from_static(IDENTITY));
        if self.operation.writes {
            let key = self.options.idempotency_key.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
            let fault = |_| Error::Usage("the idempotency key has characters that no header can hold".into());
            headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_str(&key).map_err(fault)?);
        }
        headers.extend(self.shared.headers.clone());
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
        let Shared { origin, address, clock, .. } = &*self.shared;
        let reply = self.fetch(headers, body).await.map_err(|cause| self.failure(cause, attempts, idempotency_key))?;
        let Operation { id: operation, members, .. } = self.operation;
        let asked = Asked { operation, members, origin, address, idempotency_key, attempts, now: clock.now() };
        let output = reply.output(asked)?;
        // Followed, it would lead here for ever.
        if output.get("nextCursor").is_some_and(|next| next.is_string() && Some(next) == self.input.get("cursor")) {
            return Err(reply.unexpected(asked, Fault::SameCursor));
        }
        let data = (self.decode)(output, self)
            .map_err(|cause| reply.unexpected(asked, Fault::Unreadable(cause.to_string())))?;
        Ok(Response {
            data,
            status: reply.status,
            request_id: reply.request_id(),
            rate_limit: RateLimit::of(&reply.headers),
            replayed: reply.headers.get("Idempotency-Replayed").is_some_and(|value| value == "true"),
            attempts,
            body: reply.text(),
            headers: reply.headers,
        })
    }

    /// Sends it once, and reads the reply to its end.
    async fn fetch(&self, headers: &HeaderMap, body: &str) -> Result<Reply, Box<dyn StdError + Send + Sync>> {
        let Shared { http, base_url, options, .. } = &*self.shared;
        let request = http
            .post(format!("{base_url}{}", self.operation.path))
            .headers(headers.clone())
            .timeout(self.options.timeout.or(options.timeout).unwrap_or(client::TIMEOUT))
            .body(body.to_owned());
        let connect_timeout =
            self.options.connect_timeout.or(options.connect_timeout).unwrap_or(client::CONNECT_TIMEOUT);
        let mut response =
            CONNECT_TIMEOUT.scope(connect_timeout, request.send()).await.map_err(reqwest::Error::without_url)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + chunk.len() > LARGEST_REPLY {
                return Err(format!("the reply has more than {LARGEST_REPLY} bytes").into());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply { status: response.status().as_u16(), headers: response.headers().clone(), body })
    }

    /// What went wrong where there is no whole reply.
    fn failure(&self, cause: Box<dyn StdError + Send + Sync>, attempts: u32, idempotency_key: Option<&str>) -> Error {
        let operation = self.operation.id;
        let origin = self.shared.origin.clone();
        let idempotency_key = idempotency_key.map(str::to_owned);
        let of_http = cause.downcast_ref::<reqwest::Error>();
        let connecting = causes(&*cause).find_map(|cause| cause.downcast_ref::<ConnectTimedOut>());
        if connecting.is_some() || of_http.is_some_and(reqwest::Error::is_timeout) {
            let whole = self.options.timeout.or(self.shared.options.timeout).unwrap_or(client::TIMEOUT);
            let limit = connecting.map_or(whole, |timed_out| timed_out.0);
            let while_connecting = connecting.is_some();
            let error = ApiTimeoutError { operation, attempts, idempotency_key, limit, while_connecting, origin };
            return Error::Timeout(Box::new(error));
        }
        // This is how rustls tells of a certificate that it doesn't trust.
        let is_untrusted = of_http.is_some_and(reqwest::Error::is_connect)
            && causes(&*cause)
                .filter_map(|cause| cause.downcast_ref::<io::Error>())
                .any(|error| error.kind() == io::ErrorKind::InvalidData);
        let may_pass = of_http.is_some_and(|error| !error.is_builder()) && !is_untrusted;
        Error::Connection(Box::new(ApiConnectionError {
            operation,
            attempts,
            idempotency_key,
            origin,
            cause,
            may_pass,
        }))
    }
}

/// An error and all that caused it. One of I/O passes its own cause over: it names that one's.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(cause) => Some(cause),
        None => error.source(),
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
