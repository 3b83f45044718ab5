//! The texts of failures: one line each.

use std::{error::Error as StdError, fmt, time::Duration};

use reqwest::header::HeaderMap;

use super::failures::{
    ApiConnectionError, ApiError, ApiTimeoutError, Fault, UnexpectedReplyError, WebhookFault, WebhookVerificationError,
};

/// More of them would drown the rest.
const ISSUES_SHOWN: usize = 10;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, status, reason, message, issues, request_id, attempts, .. } = self;
        let end = format!("{}{}", retry(self.retry_after), tail(request_id, *attempts));
        let Some(reason) = reason else {
            let media_type = media_type(&self.headers).unwrap_or_else(|| "no content type".into());
            write!(f, "{operation}: {status} without the gateway's error envelope ({media_type}). ")?;
            return write!(f, "Is {} {{service}}?{end}", self.origin);
        };
        write!(f, "{operation}: {status} {reason}: {message}")?;
        for (index, issue) in issues.iter().take(ISSUES_SHOWN).enumerate() {
            let path = if issue.path.is_empty() { "(input)" } else { &issue.path };
            write!(f, "{}{path}: {}", if index == 0 { " Issues: " } else { "; " }, issue.message)?;
        }
        if issues.len() > ISSUES_SHOWN {
            write!(f, "; and {} more", issues.len() - ISSUES_SHOWN)?;
        }
        if !issues.is_empty() {
            f.write_str(".")?;
        }
        if let Some(hint) = self.own_hint().or(self.hint.as_deref()) {
            write!(f, " Hint: {hint}")?;
        }
        f.write_str(&end)
    }
}

impl ApiError {
    /// How this SDK is given a key, if that is what is missing.
    fn own_hint(&self) -> Option<&'static str> {
        let is_missing = self.status == 401 && self.reason.as_deref() == Some("KEY_MISSING") && self.lacks_key;
        is_missing.then_some("Give api_key, or set {{environment}}_API_KEY.")
    }
}

impl fmt::Display for ApiConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, attempts, origin, cause, .. } = self;
        let mut innermost: &dyn StdError = &**cause;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        write!(f, "{operation}: no reply from {origin} after {}: {innermost}", count(*attempts))
    }
}

impl fmt::Display for ApiTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, attempts, origin, limit, while_connecting, .. } = self;
        let lacking = if *while_connecting { "connection to" } else { "reply from" };
        let seconds = limit.as_secs_f64();
        write!(f, "{operation}: no {lacking} {origin} within {seconds} s, {}", count(*attempts))
    }
}

impl fmt::Display for WebhookVerificationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "webhook: {}", self.text)
    }
}

impl fmt::Display for WebhookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Timestamp => "timestamp",
            Self::Old => "old",
            Self::Ahead => "ahead",
            Self::Signature => "signature",
            Self::Body => "body",
        })
    }
}

impl fmt::Display for UnexpectedReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, status, origin, .. } = self;
        let media_type = media_type(&self.headers).unwrap_or_else(|| "(no content type)".into());
        write!(f, "{operation}: {status} ")?;
        match &self.fault {
            Fault::Redirect(target) => {
                return write!(f, "to {target}, which is not followed: give that base URL if it is right.");
            }
            Fault::Foreign => write!(f, "{media_type}, which is no reply of {{service}}")?,
            // {{#events}}
            Fault::NoStream => write!(f, "{media_type}, which is no stream of events")?,
            // {{/events}}
            Fault::Empty => write!(f, "{media_type} with an empty body")?,
            Fault::CutOff => write!(f, "{media_type} whose JSON is cut off")?,
            Fault::NotJson => write!(f, "{media_type} whose JSON is not valid")?,
            Fault::TooDeep => write!(f, "{media_type} whose JSON is nested too deeply")?,
            Fault::TooLong => write!(f, "{media_type} with a body of more than 64 MiB")?,
            Fault::NoEnvelope => write!(f, "{media_type} without the gateway's envelope")?,
            Fault::Lacks(member) => write!(f, "{media_type} whose output lacks {member}")?,
            Fault::SameCursor => write!(f, "{media_type} whose nextCursor is the cursor that was sent")?,
            Fault::Unreadable(cause) => write!(f, "{media_type} whose output is not readable: {cause}")?,
        }
        write!(f, ". Is {origin} {{service}}?{}", tail(&self.request_id, self.attempts))
    }
}

impl StdError for ApiError {}
impl StdError for ApiTimeoutError {}
impl StdError for UnexpectedReplyError {}
impl StdError for WebhookVerificationError {}
impl StdError for ApiConnectionError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

/// When to try again, in whole seconds.
fn retry(after: Option<Duration>) -> String {
    match after.map(|wait| wait.as_nanos().div_ceil(NANOS_PER_SECOND)) {
        None | Some(0) => String::new(),
        Some(seconds) => format!(" Retry after {seconds} s."),
    }
}

/// Which request it was, and how often it was tried.
fn tail(id: &Option<String>, attempts: u32) -> String {
    match (id, attempts) {
        (Some(id), ..2) => format!(" (request {id})"),
        (Some(id), _) => format!(" (request {id}, after {attempts} attempts)"),
        (None, ..2) => String::new(),
        (None, _) => format!(" (after {attempts} attempts)"),
    }
}

fn count(attempts: u32) -> String {
    format!("{attempts} attempt{}", if attempts == 1 { "" } else { "s" })
}

/// `text/html` of `Text/HTML; charset=utf-8`
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(reqwest::header::CONTENT_TYPE)?.to_str().ok()?;
    Some(text.split(';').next()?.trim().to_ascii_lowercase())
}
