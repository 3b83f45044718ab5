//! What is told of each attempt of a call.

use std::{
    borrow::Cow,
    fmt,
    io::{Write, stderr},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use super::operation::Operation;
use crate::{Response, error::Error, error::ErrorKind};

/// One attempt of a call, after it ended: for [`Builder::on_attempt`](crate::Builder::on_attempt). An attempt that the caller
/// cancelled is not told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The operation, such as `game.create`.
    pub operation: Cow<'static, str>,
    /// Its number, from 1.
    pub attempt: u32,
    /// The HTTP status; none without a whole reply.
    pub status: Option<u16>,
    /// The service's reason of a failure, such as `OVERLOADED`.
    pub reason: Option<String>,
    /// What kind of failure it was; none if it was none.
    pub error: Option<ErrorKind>,
    /// The id of the request, to name to the operator.
    pub request_id: Option<String>,
    /// How long this attempt took.
    pub duration: Duration,
    /// How long the SDK waits before the next attempt; none if there is none.
    pub wait: Option<Duration>,
}

impl Attempt {
    pub(crate) fn new<T>(
        operation: &Operation,
        attempt: u32,
        result: &Result<Response<T>, Error>,
        duration: Duration,
        wait: Option<Duration>,
    ) -> Self {
        let (status, request_id, error) = match result {
            Ok(response) => (Some(response.status), response.request_id.as_deref(), None),
            Err(error) => (error.status(), error.request_id(), Some(error)),
        };
        Self {
            operation: operation.id.clone(),
            attempt,
            status,
            reason: error.and_then(Error::reason).map(str::to_owned),
            error: error.map(Error::kind),
            request_id: request_id.map(str::to_owned),
            duration,
            wait,
        }
    }
}

/// The line of the log: `game.list attempt 1: 503 OVERLOADED in 12 ms, request 2dd0, again in 0.5 s`.
impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, attempt, status, reason, error, request_id, duration, wait } = self;
        write!(f, "{operation} attempt {attempt}:")?;
        if let Some(status) = status {
            write!(f, " {status}")?;
        }
        match (reason, error) {
            (Some(reason), _) => write!(f, " {reason}")?,
            (None, Some(error)) => write!(f, " {error}")?,
            (None, None) => {}
        }
        write!(f, " in {:.0} ms", duration.as_secs_f64() * 1000.0)?;
        if let Some(id) = request_id {
            write!(f, ", request {id}")?;
        }
        if let Some(wait) = wait {
            let seconds = format!("{:.2}", wait.as_secs_f64());
            write!(f, ", again in {} s", seconds.trim_end_matches('0').trim_end_matches('.'))?;
        }
        Ok(())
    }
}

pub(crate) type Hook = Arc<dyn Fn(&Attempt) + Send + Sync>;

/// Who is told of attempts.
#[derive(Clone, Default)]
pub(crate) struct Observer {
    pub(crate) hook: Option<Hook>,
    /// Whether they are printed to standard error.
    pub(crate) logs: bool,
}

impl Observer {
    /// Tells of an attempt. A hook that panics breaks no call.
    pub(crate) fn tell(&self, attempt: impl FnOnce() -> Attempt) {
        if self.hook.is_none() && !self.logs {
            return;
        }
        let attempt = attempt();
        if self.logs {
            // Where there is no standard error, there is no log.
            let _ = writeln!(stderr(), "{{product}}: {attempt}");
        }
        if let Some(hook) = &self.hook {
            let _ = catch_unwind(AssertUnwindSafe(|| hook(&attempt)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_one_line() {
        let succeeded = Attempt {
            operation: "game.list".into(),
            attempt: 2,
            status: Some(200),
            reason: None,
            error: None,
            request_id: Some("2dd1".into()),
            duration: Duration::from_micros(9400),
            wait: None,
        };
        let refused = Attempt {
            status: Some(503),
            reason: Some("OVERLOADED".into()),
            error: Some(ErrorKind::Server),
            wait: Some(Duration::from_millis(500)),
            ..succeeded.clone()
        };
        let broken = Attempt {
            status: None,
            error: Some(ErrorKind::ApiConnection),
            request_id: None,
            wait: Some(Duration::from_millis(10_412)),
            ..succeeded.clone()
        };
        let foreign =
            Attempt { error: Some(ErrorKind::UnexpectedReply), wait: Some(Duration::ZERO), ..succeeded.clone() };
        assert_eq!(succeeded.to_string(), "game.list attempt 2: 200 in 9 ms, request 2dd1");
        assert_eq!(refused.to_string(), "game.list attempt 2: 503 OVERLOADED in 9 ms, request 2dd1, again in 0.5 s");
        assert_eq!(broken.to_string(), "game.list attempt 2: ApiConnectionError in 9 ms, again in 10.41 s");
        assert_eq!(
            foreign.to_string(),
            "game.list attempt 2: 200 UnexpectedReplyError in 9 ms, request 2dd1, again in 0 s"
        );
    }
}
