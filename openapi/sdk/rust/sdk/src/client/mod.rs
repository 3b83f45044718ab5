mod builder;
pub(crate) mod options;
mod proxy;

use std::{env, fmt, sync::Arc, time::Duration};

use reqwest::header::HeaderValue;
use tokio::sync::Semaphore;

use crate::{
    call::{attempt::Observer, transport::HttpService},
    clock::Clock,
    error::Error,
};
pub use builder::Builder;
use options::Options;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
pub(crate) const MAX_RETRIES: u32 = 2;
pub(crate) const MAX_CONNECTIONS: usize = 100;

/// The client of {{title}}. To clone it is cheap; clones share their connections, which close when the last of them
/// is dropped.
#[derive(Clone)]
pub struct {{client}} {
    pub(crate) shared: Arc<Shared>,
}

/// What all calls of a client have in common.
pub(crate) struct Shared {
    /// Makes requests.
    pub(crate) http: reqwest::Client,
    /// Sends them.
    pub(crate) service: HttpService,
    /// As many as attempts are made at once, by all clients that share it.
    pub(crate) turns: Arc<Semaphore>,
    /// Without slashes at its end.
    pub(crate) base_url: String,
    /// That of the base URL, `https://api.example.com`.
    pub(crate) origin: String,
    /// The key, if there is one.
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) user_agent: HeaderValue,
    /// What the caller set for all calls.
    pub(crate) options: Options,
    pub(crate) observer: Observer,
    pub(crate) clock: Arc<dyn Clock>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("{{client}}").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl fmt::Debug for {{client}} {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

impl {{client}} {
    /// The gateway at the URL in `{{environment}}_URL`, with the key in `{{environment}}_API_KEY`, if that is set.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] as of [`Builder::build`].
    pub fn from_env() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// A client to be set up.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client like this one, with other options: what isn't set is as here, the key too. Both share their connections, unless
    /// the other is given an HTTP client of its own.
    ///
    /// ```ignore
    /// let anyone = gateway.with_options().without_api_key().max_retries(0).build()?;
    /// ```
    pub fn with_options(&self) -> Builder {
        Builder::of(&self.shared)
    }
}

/// What the environment says; nothing if it says nothing.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
