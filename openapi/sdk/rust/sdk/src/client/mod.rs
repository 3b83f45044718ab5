pub(crate) mod options;

use std::{env, fmt, sync::Arc, time::Duration};

use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
};

use crate::{
    call::ConnectTimeoutLayer,
    clock::{Clock, SystemClock},
    error::Error,
};
use options::{Options, option_methods};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
pub(crate) const MAX_RETRIES: u32 = 2;

/// The client of a content gateway. To clone it is cheap; clones share their connections.
#[derive(Clone)]
pub struct ContentGateway {
    pub(crate) shared: Arc<Shared>,
}

/// What all calls of a client have in common.
pub(crate) struct Shared {
    pub(crate) http: reqwest::Client,
    /// Without slashes at its end.
    pub(crate) base_url: String,
    /// That of the base URL, `https://api.example.com`.
    pub(crate) origin: String,
    /// The base URL without the user and password that it may have.
    pub(crate) address: String,
    /// The key, if there is one, and what the caller set for all calls.
    pub(crate) headers: HeaderMap,
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentGateway").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl fmt::Debug for ContentGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

impl ContentGateway {
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
}

/// A client to be set up: `ContentGateway::builder().base_url("https://api.example.com").build()?`.
#[derive(Default)]
#[must_use = "there is no client before build()"]
pub struct Builder {
    base_url: Option<String>,
    api_key: Option<String>,
    is_anonymous: bool,
    http: Option<reqwest::ClientBuilder>,
    clock: Option<Arc<dyn Clock>>,
    options: Options,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Builder {
    /// Where the gateway is, such as `https://api.example.com`; `{{environment}}_URL` unless set.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key; `{{environment}}_API_KEY` unless set.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Calls without a key, whatever the environment says. Public operations need none.
    pub fn without_api_key(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    option_methods!(options);

    /// The HTTP client underneath, with proxies, certificates and the like of your own. Redirects stay off.
    pub fn http(mut self, http: reqwest::ClientBuilder) -> Self {
        self.http = Some(http);
        self
    }

    /// A clock of your own, for tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no base URL or it isn't one of http or https, if no header can hold the key, if a
    /// timeout is 0, or if the HTTP client cannot be made.
    pub fn build(self) -> Result<ContentGateway, Error> {
        if let Some(fault) = self.options.fault {
            return Err(Error::Usage(fault));
        }
        let url = parse_url(self.base_url.or_else(|| variable("{{environment}}_URL")))?;
        let key = self.api_key.or_else(|| variable("{{environment}}_API_KEY"));
        let http = self
            .http
            .unwrap_or_default()
            .redirect(reqwest::redirect::Policy::none())
            // There is one place that retries, and one that limits the time.
            .retry(reqwest::retry::never())
            .connector_layer(ConnectTimeoutLayer)
            .build()
            .map_err(|error| Error::Usage(format!("the HTTP client cannot be made: {error}")))?;
        let mut headers = HeaderMap::new();
        if let Some(key) = key.filter(|key| !self.is_anonymous && !key.is_empty()) {
            headers.insert(AUTHORIZATION, authorization(&key)?);
        }
        headers.extend(self.options.headers.clone());
        Ok(ContentGateway {
            shared: Arc::new(Shared {
                http,
                base_url: url.as_str().trim_end_matches('/').into(),
                origin: url.origin().ascii_serialization(),
                address: format!("{}{}", url.origin().ascii_serialization(), url.path().trim_end_matches('/')),
                headers,
                options: self.options,
                clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            }),
        })
    }
}

/// What the environment says; nothing if it says nothing.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn parse_url(text: Option<String>) -> Result<Url, Error> {
    let text = text.ok_or_else(|| Error::Usage("no base URL: give one, or set {{environment}}_URL".into()))?;
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| Error::Usage(format!("the base URL must be one of http or https, and is {text:?}")))
}

fn authorization(key: &str) -> Result<HeaderValue, Error> {
    // Says nothing of the key, which is a secret although it is wrong.
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| Error::Usage("the API key has characters that no header can hold".into()))?;
    value.set_sensitive(true);
    Ok(value)
}
