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

#[cfg(feature = "blocking")]
pub use blocking::{BlockingIter, BlockingPages};
pub use call::{
    Call, WithResponse,
    attempt::Attempt,
    transport::{BoxError, HttpService},
};
pub use change::Change;
pub use client::{Builder, ContentGateway};
pub use clock::{Clock, SystemClock};
pub use error::{ApiConnectionError, ApiError, ApiTimeoutError, Error, ErrorKind, UnexpectedReplyError};
pub use operations::*;
pub use page::{
    Listing, Page,
    walk::{ListAll, ListPages},
};
pub use response::{RateLimit, Response};

pub use reqwest;
