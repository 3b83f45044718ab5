//! Sends a request once, and reads its reply.

use std::{error::Error as StdError, fmt, io};

use reqwest::header::HeaderMap;
use tokio::{runtime::Handle, time::error::Elapsed};
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};

use super::{
    Call,
    connect::{CONNECT_TIMEOUT, ConnectTimedOut},
    reply::Reply,
};
use crate::{
    client::Shared,
    error::{ApiConnectionError, ApiTimeoutError, Error},
};

/// No reply of the gateway comes near this, in bytes.
const LARGEST_REPLY: usize = 64 * 1024 * 1024;

/// What hyper-util says when a proxy refuses a tunnel with 407.
const PROXY_WANTS_PASSWORD: &str = "proxy authorization required";

/// What hyper-util says of an https URL where there is no TLS.
const WITHOUT_TLS: &str = "invalid URL, scheme is not http";

/// Any error.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What sends the requests of a client, and what layers of [`Builder::layer`](crate::Builder::layer) are put around.
pub type HttpService = BoxCloneSyncService<reqwest::Request, reqwest::Response, BoxError>;

/// A layer to be put around such a service.
pub(crate) type HttpLayer = Box<dyn FnOnce(HttpService) -> HttpService + Send + Sync>;

/// What sends requests by this client. Its errors don't show URLs, which may hold a password.
pub(crate) fn service_of(http: &reqwest::Client) -> HttpService {
    let http = http.clone();
    HttpService::new(service_fn(move |request| {
        let http = http.clone();
        async move {
            check_runtime()?;
            http.execute(request).await.map_err(|error| BoxError::from(error.without_url()))
        }
    }))
}

/// Nothing drives connections and timers.
#[derive(Debug)]
struct NoRuntime;

impl fmt::Display for NoRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("calls must be awaited within a Tokio runtime")
    }
}

impl StdError for NoRuntime {}

/// Fails where reqwest and Tokio's timers would panic.
pub(super) fn check_runtime() -> Result<(), BoxError> {
    Handle::try_current().map(drop).map_err(|_| NoRuntime.into())
}

impl<T> Call<T> {
    /// Sends it once, and reads the reply to its end.
    pub(super) async fn fetch(&self, headers: &HeaderMap, body: &str) -> Result<Reply, BoxError> {
        let Shared { http, service, base_url, .. } = &*self.shared;
        let request = http
            .post(format!("{base_url}{}", self.operation.path))
            .headers(headers.clone())
            .timeout(self.timeout_of_attempt())
            .body(body.to_owned())
            .build()
            .map_err(reqwest::Error::without_url)?;
        whole(CONNECT_TIMEOUT.scope(self.timeout_of_connecting(), service.clone().oneshot(request)).await?).await
    }

    /// What went wrong where there is no whole reply.
    pub(super) fn failure(&self, cause: BoxError, attempts: u32, idempotency_key: Option<&str>) -> Error {
        let operation = self.operation.id.clone();
        let origin = self.shared.origin.clone();
        let idempotency_key = idempotency_key.map(str::to_owned);
        let of_http = causes(&*cause).find_map(|cause| cause.downcast_ref::<reqwest::Error>());
        let connecting = causes(&*cause).find_map(|cause| cause.downcast_ref::<ConnectTimedOut>());
        let is_late = causes(&*cause).any(|cause| cause.is::<Elapsed>());
        if connecting.is_some() || is_late || of_http.is_some_and(reqwest::Error::is_timeout) {
            let limit = connecting.map_or(self.timeout_of_attempt(), |timed_out| timed_out.0);
            let while_connecting = connecting.is_some();
            let error = ApiTimeoutError { operation, attempts, idempotency_key, limit, while_connecting, origin };
            return Error::Timeout(Box::new(error));
        }
        if let Some(fault) = causes(&*cause).find_map(|cause| cause.downcast_ref::<NoRuntime>()) {
            return Error::Usage(format!("{operation}: {fault}"));
        }
        // There is but the text: hyper-util says this of https where nothing has brought TLS along.
        if causes(&*cause).any(|cause| cause.to_string() == WITHOUT_TLS) {
            return Error::Usage(format!("{operation}: {origin} is reached by https, for which the crate {{rust.crate}} needs its feature `tls`"));
        }
        // This is how rustls tells of a certificate that it doesn't trust.
        let is_untrusted = of_http.is_some_and(reqwest::Error::is_connect)
            && causes(&*cause)
                .filter_map(|cause| cause.downcast_ref::<io::Error>())
                .any(|error| error.kind() == io::ErrorKind::InvalidData);
        // There is but the text: the type of this error is private.
        let wants_password = causes(&*cause).any(|cause| cause.to_string().contains(PROXY_WANTS_PASSWORD));
        let may_pass = !of_http.is_some_and(reqwest::Error::is_builder) && !is_untrusted && !wants_password;
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

/// A reply with the whole of its body.
pub(super) async fn whole(mut response: reqwest::Response) -> Result<Reply, BoxError> {
    let mut body = Vec::new();
    let mut is_too_long = false;
    while !is_too_long && let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
        body.extend_from_slice(&chunk);
        is_too_long = body.len() > LARGEST_REPLY;
    }
    Ok(Reply { status: response.status().as_u16(), headers: response.headers().clone(), body, is_too_long })
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
