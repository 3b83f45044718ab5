use std::{
    future::{Future, pending},
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use content_gateway::Clock;
use tokio::sync::Notify;

/// A clock that notes waits, and lets them pass at once or, if it is to hold them, never.
#[derive(Clone, Debug)]
pub struct FakeClock {
    offset: Duration,
    is_behind: bool,
    holds: bool,
    waits: Arc<Mutex<Vec<Duration>>>,
    waiting: Arc<Notify>,
}

impl FakeClock {
    /// A clock that is off by `offset`, and that holds waits if it has to.
    pub fn new(offset: Duration, is_behind: bool, holds: bool) -> Self {
        Self { offset, is_behind, holds, waits: Arc::default(), waiting: Arc::default() }
    }

    /// The waits so far, in seconds.
    pub fn waits(&self) -> Vec<f64> {
        self.waits.lock().expect("nobody panics").iter().map(Duration::as_secs_f64).collect()
    }

    /// Resolves once somebody waits.
    pub async fn waiting(&self) {
        self.waiting.notified().await;
    }
}

impl Clock for FakeClock {
    fn now(&self) -> SystemTime {
        let waited: Duration = self.waits.lock().expect("nobody panics").iter().sum();
        let now = SystemTime::now() + waited;
        if self.is_behind { now - self.offset } else { now + self.offset }
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.waits.lock().expect("nobody panics").push(duration);
        self.waiting.notify_one();
        if self.holds { Box::pin(pending()) } else { Box::pin(async {}) }
    }
}
