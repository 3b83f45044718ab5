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
// {{#events}}
mod webhook;
// {{/events}}

// {{#events}}
#[cfg(feature = "blocking")]
pub use blocking::BlockingFollow;
// {{/events}}
#[cfg(feature = "blocking")]
pub use blocking::{BlockingIter, BlockingPages};
pub use call::{
    Call, WithResponse,
    attempt::Attempt,
    transport::{BoxError, HttpService},
};
pub use change::Change;
pub use client::{Builder, {{client}}};
pub use clock::{Clock, SystemClock};
pub use error::{
    ApiConnectionError, ApiError, ApiTimeoutError, Error, ErrorKind, UnexpectedReplyError, WebhookFault,
    WebhookVerificationError,
};
pub use operations::*;
// {{#events}}
pub use page::follow::{Feed, Follow};
// {{/events}}
pub use page::{
    Listing, Page,
    walk::{ListAll, ListPages},
};
pub use response::{RateLimit, Response};
// {{#events}}
pub use webhook::{WebhookMessage, WebhookOptions, WebhookSecrets, unwrap_webhook, unwrap_webhook_with};
// {{/events}}

pub use reqwest;
