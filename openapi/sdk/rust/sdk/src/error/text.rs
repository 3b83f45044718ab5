//! The texts of failures: one line each.

use std::{error::Error as StdError, fmt};

use reqwest::header::HeaderMap;

use super::failures::{ApiConnectionError, ApiError, ApiTimeoutError, Fault, UnexpectedReplyError};

/// More of them would drown the rest.
const ISSUES_SHOWN: usize = 10;

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, status, reason, message, issues, hint, request_id, .. } = self;
        let Some(reason) = reason else {
            let media_type = media_type(&self.headers).unwrap_or_else(|| "no content type".into());
            write!(f, "{operation}: {status} without the gateway's error envelope ({media_type}). ")?;
            return write!(f, "Is {} a content gateway?{}", self.origin, request(request_id));
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
        if let Some(hint) = hint {
            write!(f, " Hint: {hint}")?;
        }
        f.write_str(&request(request_id))
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

impl fmt::Display for UnexpectedReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, status, origin, .. } = self;
        let media_type = media_type(&self.headers).unwrap_or_else(|| "(no content type)".into());
        write!(f, "{operation}: {status} ")?;
        match &self.fault {
            Fault::Redirect(target) => {
                return write!(f, "to {target}, which is not followed: give that base URL if it is right.");
            }
            Fault::Foreign => write!(f, "{media_type}, which no content gateway answers")?,
            Fault::NoEnvelope => write!(f, "{media_type} without the gateway's envelope")?,
            Fault::Lacks(member) => write!(f, "{media_type} whose output lacks {member}")?,
            Fault::SameCursor => write!(f, "{media_type} whose nextCursor is the cursor that was sent")?,
            Fault::Unreadable(cause) => write!(f, "{media_type} whose output is not readable: {cause}")?,
        }
        write!(f, ". Is {origin} a content gateway?{}", request(&self.request_id))
    }
}

impl StdError for ApiError {}
impl StdError for ApiTimeoutError {}
impl StdError for UnexpectedReplyError {}
impl StdError for ApiConnectionError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

fn request(id: &Option<String>) -> String {
    id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default()
}

fn count(attempts: u32) -> String {
    format!("{attempts} attempt{}", if attempts == 1 { "" } else { "s" })
}

/// `text/html` of `Text/HTML; charset=utf-8`
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(reqwest::header::CONTENT_TYPE)?.to_str().ok()?;
    Some(text.split(';').next()?.trim().to_ascii_lowercase())
}
