use std::{
    fmt,
    future::Future,
    pin::Pin,
    time::{Duration, SystemTime},
};

/// A future that can be sent to another thread.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the time is, and how to wait: for tests that don't want to wait. Timeouts go by the real time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time of day, for a `Retry-After` that is a date.
    fn now(&self) -> SystemTime;

    /// Waits before the next attempt of a call: once for each wait.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The real time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
