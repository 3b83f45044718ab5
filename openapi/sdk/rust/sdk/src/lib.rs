#![doc = include_str!("lib.md")]

#[cfg(feature = "blocking")]
mod blocking;
mod call;
mod change;
mod client;
mod clock;
mod error;
mod operations;
mod page;
mod response;
/// What the operations take and answer.
#[allow(clippy::all)]
pub mod types;
mod webhook;

#[cfg(feature = "blocking")]
pub use blocking::{BlockingFollow, BlockingIter, BlockingPages};
pub use call::{
    Call, WithResponse,
    attempt::Attempt,
    transport::{BoxError, HttpService},
};
pub use change::Change;
pub use client::{Builder, ContentGateway};
pub use clock::{Clock, SystemClock};
pub use error::{
    ApiConnectionError, ApiError, ApiTimeoutError, Error, ErrorKind, UnexpectedReplyError, WebhookFault,
    WebhookVerificationError,
};
pub use operations::*;
pub use page::{
    Listing, Page,
    follow::{Feed, Follow},
    walk::{ListAll, ListPages},
};
pub use response::{RateLimit, Response};
pub use webhook::{WebhookMessage, unwrap_webhook, unwrap_webhook_at};

pub use reqwest;
