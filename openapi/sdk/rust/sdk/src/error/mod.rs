mod failures;
mod text;

use std::{error::Error as StdError, fmt};

pub(crate) use failures::Fault;
pub use failures::{
    ApiConnectionError, ApiError, ApiTimeoutError, UnexpectedReplyError, WebhookFault, WebhookVerificationError,
};
pub(crate) use text::media_type;

/// Why a call failed, or a message of a webhook was refused.
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
    /// A message of a webhook cannot be trusted or read.
    WebhookVerification(WebhookVerificationError),
    /// The client, the call or the secret of a webhook cannot work as it was given; nothing was sent.
    Usage(String),
}

/// What kind of failure an [`Error`] is. Its text is the name that all SDKs call it by, such as `ServerError`.
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
    /// A message of a webhook that cannot be trusted or read.
    WebhookVerification,
    /// A client or a call set up in a way that cannot work.
    Usage,
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
            Self::WebhookVerification(_) => ErrorKind::WebhookVerification,
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
            Self::WebhookVerification(_) | Self::Usage(_) => None,
        }
    }

    /// The operation, such as `game.create`; none if there was no call.
    pub fn operation(&self) -> Option<&str> {
        match self {
            Self::Api(error) => Some(&error.operation),
            Self::Connection(error) => Some(&error.operation),
            Self::Timeout(error) => Some(&error.operation),
            Self::UnexpectedReply(error) => Some(&error.operation),
            Self::WebhookVerification(_) | Self::Usage(_) => None,
        }
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Api(error) => error.attempts,
            Self::Connection(error) => error.attempts,
            Self::Timeout(error) => error.attempts,
            Self::UnexpectedReply(error) => error.attempts,
            Self::WebhookVerification(_) | Self::Usage(_) => 0,
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

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}Error")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api(error) => error.fmt(f),
            Self::Connection(error) => error.fmt(f),
            Self::Timeout(error) => error.fmt(f),
            Self::UnexpectedReply(error) => error.fmt(f),
            Self::WebhookVerification(error) => error.fmt(f),
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
