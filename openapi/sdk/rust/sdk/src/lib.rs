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
pub use blocking::BlockingIter;
pub use call::{Call, WithResponse};
pub use change::Change;
pub use client::{Builder, ContentGateway};
pub use clock::{Clock, SystemClock};
pub use error::{ApiConnectionError, ApiError, ApiTimeoutError, Error, ErrorKind, UnexpectedReplyError};
pub use operations::*;
pub use page::{ListAll, Listing, Page};
pub use response::{RateLimit, Response};

pub use reqwest;
