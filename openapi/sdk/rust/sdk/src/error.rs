use std::{error::Error as StdError, fmt, time::Duration};

use reqwest::header::HeaderMap;

use crate::types::Issue;

/// Why a call failed.
///
/// None of it ever shows the key. Its text is one line that names operation, cause and request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The service answered a failure: branch on its `reason`, such as `GAME_NOT_FOUND`.
    Api(Box<ApiError>),
    /// There was no reply, or not the whole.
    Connection(Box<ApiConnectionError>),
    /// There was no reply in time.
    Timeout(Box<ApiTimeoutError>),
    /// There was a reply, but not the gateway's.
    UnexpectedReply(Box<UnexpectedReplyError>),
    /// The client or the call was set up in a way that cannot work; nothing was sent.
    Usage(String),
}

/// What kind of failure an [`Error`] is. `Debug` writes its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// 400
    BadRequest,
    /// 401
    Authentication,
    /// 403
    PermissionDenied,
    /// 404
    NotFound,
    /// 409
    Conflict,
    /// 413
    PayloadTooLarge,
    /// 422
    Unprocessable,
    /// 429
    RateLimit,
    /// 5xx
    Server,
    /// Any other status of a failure.
    Api,
    /// No reply, or not the whole.
    ApiConnection,
    /// No reply in time.
    ApiTimeout,
    /// A reply that isn't the gateway's.
    UnexpectedReply,
    /// A client or a call set up in a way that cannot work.
    Usage,
}

/// A failure that the service answered, or somebody on the way to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, such as `GAME_NOT_FOUND`: what to branch on. It is text, as new reasons may be added. None where
    /// the reply lacks the gateway's error envelope.
    pub reason: Option<String>,
    /// The code of tRPC, such as `NOT_FOUND`.
    pub code: Option<String>,
    /// What went wrong, in the service's own words; empty without the envelope.
    pub message: String,
    /// Every fault of the input, of a `VALIDATION_FAILED`.
    pub issues: Vec<Issue>,
    /// What may help.
    pub hint: Option<String>,
    /// The address of the page about the reason, if the service names one.
    pub docs: Option<String>,
    /// The id of the request, to name to the operator.
    pub request_id: Option<String>,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    /// The operation, such as `game.create`.
    pub operation: &'static str,
    /// How often it was tried.
    pub attempts: u32,
    /// The headers of the reply.
    pub headers: HeaderMap,
    pub(crate) origin: String,
}

/// No reply, or not the whole.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApiConnectionError {
    /// The operation, such as `game.create`.
    pub operation: &'static str,
    /// How often it was tried.
    pub attempts: u32,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    pub(crate) origin: String,
    pub(crate) cause: Box<dyn StdError + Send + Sync>,
    /// Whether another attempt may go better.
    pub(crate) may_pass: bool,
}

/// No reply in time, or no connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiTimeoutError {
    /// The operation, such as `game.create`.
    pub operation: &'static str,
    /// How often it was tried.
    pub attempts: u32,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    /// The time that was not enough.
    pub limit: Duration,
    /// Whether there was no connection.
    pub while_connecting: bool,
    pub(crate) origin: String,
}

/// A reply that isn't the gateway's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnexpectedReplyError {
    /// The HTTP status.
    pub status: u16,
    /// The id of the request, if the reply has one.
    pub request_id: Option<String>,
    /// The first 500 characters of the body.
    pub body: String,
    /// The operation, such as `game.create`.
    pub operation: &'static str,
    /// How often it was tried.
    pub attempts: u32,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    /// The headers of the reply.
    pub headers: HeaderMap,
    pub(crate) origin: String,
    pub(crate) fault: Fault,
}

/// What tells that a reply isn't the gateway's.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Foreign,
    Redirect(String),
    NoEnvelope,
    Lacks(&'static str),
    SameCursor,
    Unreadable(String),
}

impl Error {
    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Api(error) => match error.status {
                400 => ErrorKind::BadRequest,
                401 => ErrorKind::Authentication,
                403 => ErrorKind::PermissionDenied,
                404 => ErrorKind::NotFound,
                409 => ErrorKind::Conflict,
                413 => ErrorKind::PayloadTooLarge,
                422 => ErrorKind::Unprocessable,
                429 => ErrorKind::RateLimit,
                500..=599 => ErrorKind::Server,
                _ => ErrorKind::Api,
            },
            Self::Connection(_) => ErrorKind::ApiConnection,
            Self::Timeout(_) => ErrorKind::ApiTimeout,
            Self::UnexpectedReply(_) => ErrorKind::UnexpectedReply,
            Self::Usage(_) => ErrorKind::Usage,
        }
    }

    /// The failure that the service answered, if it is one.
    pub fn as_api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            _ => None,
        }
    }

    /// The reason that the service gave, such as `GAME_NOT_FOUND`.
    pub fn reason(&self) -> Option<&str> {
        self.as_api()?.reason.as_deref()
    }

    /// The HTTP status, if there was a reply.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api(error) => Some(error.status),
            Self::UnexpectedReply(error) => Some(error.status),
            _ => None,
        }
    }

    /// The id of the request, to name to the operator.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Api(error) => error.request_id.as_deref(),
            Self::UnexpectedReply(error) => error.request_id.as_deref(),
            _ => None,
        }
    }

    /// The `Idempotency-Key` that a write was sent with: sent again with it, it is done once at most.
    pub fn idempotency_key(&self) -> Option<&str> {
        match self {
            Self::Api(error) => error.idempotency_key.as_deref(),
            Self::Connection(error) => error.idempotency_key.as_deref(),
            Self::Timeout(error) => error.idempotency_key.as_deref(),
            Self::UnexpectedReply(error) => error.idempotency_key.as_deref(),
            Self::Usage(_) => None,
        }
    }

    /// The operation, such as `game.create`; none if the client could not be made.
    pub fn operation(&self) -> Option<&'static str> {
        match self {
            Self::Api(error) => Some(error.operation),
            Self::Connection(error) => Some(error.operation),
            Self::Timeout(error) => Some(error.operation),
            Self::UnexpectedReply(error) => Some(error.operation),
            Self::Usage(_) => None,
        }
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Api(error) => error.attempts,
            Self::Connection(error) => error.attempts,
            Self::Timeout(error) => error.attempts,
            Self::UnexpectedReply(error) => error.attempts,
            Self::Usage(_) => 0,
        }
    }

    /// Whether what was asked for doesn't exist: 404.
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }

    /// Whether there was no reply in time.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Whether there was no reply, or not the whole; a timeout is one of these, too.
    pub fn is_connection(&self) -> bool {
        matches!(self, Self::Connection(_) | Self::Timeout(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api(error) => error.fmt(f),
            Self::Connection(error) => error.fmt(f),
            Self::Timeout(error) => error.fmt(f),
            Self::UnexpectedReply(error) => error.fmt(f),
            Self::Usage(fault) => f.write_str(fault),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Connection(error) => error.source(),
            _ => None,
        }
    }
}

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
