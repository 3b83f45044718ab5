//! When a failed attempt is repeated, and after how long.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use uuid::Uuid;

use crate::error::{ApiError, Error, Fault};

/// From here on, the caller is told instead of waiting.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const FIRST_BACKOFF: f64 = 0.5;
const LONGEST_BACKOFF: f64 = 8.0;
const JITTER: f64 = 0.25;
pub(crate) const RETRIED: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// How long to wait before attempt `attempts + 1`; none if the failure is for the caller.
pub(crate) fn wait_after(error: &Error, attempts: u32) -> Option<Duration> {
    match error {
        Error::Api(error) if should_retry(error) => match error.retry_after {
            None => Some(backoff(attempts)),
            wait => wait.filter(|wait| *wait < LONGEST_WAIT),
        },
        Error::Connection(error) if error.may_pass => Some(backoff(attempts)),
        Error::Timeout(_) => Some(backoff(attempts)),
        // It broke off on its way, as where a connection breaks.
        Error::UnexpectedReply(error) if matches!(error.fault, Fault::CutOff) => Some(backoff(attempts)),
        _ => None,
    }
}

pub(crate) fn should_retry(error: &ApiError) -> bool {
    match error.headers.get("X-Should-Retry").map(|value| value.as_bytes()) {
        Some(b"true") => true,
        Some(b"false") => false,
        _ => RETRIED.contains(&error.status) || error.reason.as_deref() == Some("IDEMPOTENCY_IN_PROGRESS"),
    }
}

/// 0.5 s, 1 s, 2 s … at most 8 s, less up to a quarter, so that clients that failed together don't come back together.
pub(crate) fn backoff(attempts: u32) -> Duration {
    let whole = (FIRST_BACKOFF * f64::from(attempts - 1).exp2()).min(LONGEST_BACKOFF);
    let random = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
    Duration::from_secs_f64(whole * (1.0 - JITTER * random))
}

/// What `Retry-After` asks for: seconds, also with a fraction, or the time until a date, by the clock of the one who wrote it.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if [whole, fraction].iter().all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())) {
        let seconds = text.parse().unwrap_or(f64::INFINITY);
        return Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    let date = |text: &str| httpdate::parse_http_date(text).ok();
    let until = date(text)?;
    let now = headers.get(DATE).and_then(|value| date(value.to_str().ok()?)).unwrap_or(now);
    Some(until.duration_since(now).unwrap_or_default())
}
