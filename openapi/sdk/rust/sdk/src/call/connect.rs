//! How long a call waits for a connection. Reqwest knows that of a whole client only.

use std::{
    error::Error,
    fmt,
    task::{Context, Poll},
    time::Duration,
};

use tower::{Layer, Service};

use crate::clock::BoxFuture;

tokio::task_local! {
    /// How long the call at work may take to connect.
    pub(crate) static CONNECT_TIMEOUT: Duration;
}

/// No connection within this time.
#[derive(Debug)]
pub(crate) struct ConnectTimedOut(pub(crate) Duration);

impl fmt::Display for ConnectTimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no connection within {} s", self.0.as_secs_f64())
    }
}

impl Error for ConnectTimedOut {}

type BoxError = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
pub(crate) struct ConnectTimeoutLayer;

impl<S> Layer<S> for ConnectTimeoutLayer {
    type Service = ConnectTimeoutService<S>;

    fn layer(&self, connector: S) -> Self::Service {
        ConnectTimeoutService(connector)
    }
}

#[derive(Clone)]
pub(crate) struct ConnectTimeoutService<S>(S);

impl<S, R> Service<R> for ConnectTimeoutService<S>
where
    S: Service<R, Error = BoxError>,
    S::Response: 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let connecting = self.0.call(target);
        let Ok(limit) = CONNECT_TIMEOUT.try_with(|limit| *limit) else { return Box::pin(connecting) };
        Box::pin(async move {
            match tokio::time::timeout(limit, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(ConnectTimedOut(limit).into()),
            }
        })
    }
}
