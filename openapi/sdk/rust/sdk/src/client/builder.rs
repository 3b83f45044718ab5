use std::{fmt, sync::Arc};

use reqwest::{Request, Url, header::HeaderValue};
use tokio::sync::Semaphore;
use tower::{Layer, Service, ServiceExt};

use super::{
    {{client}}, MAX_CONNECTIONS, Shared,
    options::{Options, option_methods},
    proxy, variable,
};
use crate::{
    call::{
        ConnectTimeoutLayer,
        attempt::{Attempt, Hook, Observer},
        transport::{BoxError, HttpLayer, HttpService, service_of},
    },
    clock::{Clock, SystemClock},
    error::Error,
};

const IDENTITY: &str = concat!(
    "{{product}}-rust/",
    env!("CARGO_PKG_VERSION"),
    " (contract {{contract}}; rust ",
    env!("RUST_VERSION"),
    ")"
);

/// A client to be set up: `{{client}}::builder().base_url("https://api.example.com").build()?`.
#[derive(Default)]
#[must_use = "there is no client before build()"]
pub struct Builder {
    base_url: Option<String>,
    key: Key,
    user_agent: Option<HeaderValue>,
    http: Option<reqwest::ClientBuilder>,
    max_connections: Option<usize>,
    /// What the client that it is derived from has.
    connections: Option<Connections>,
    layers: Vec<HttpLayer>,
    on_attempt: Option<Hook>,
    clock: Option<Arc<dyn Clock>>,
    options: Options,
}

/// What sends requests, and when.
struct Connections {
    http: reqwest::Client,
    service: HttpService,
    turns: Arc<Semaphore>,
}

#[derive(Default)]
enum Key {
    #[default]
    OfEnvironment,
    Given(String),
    Header(Option<HeaderValue>),
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Builder {
    /// A client like this one.
    pub(super) fn of(parent: &Shared) -> Self {
        Self {
            base_url: Some(parent.base_url.clone()),
            key: Key::Header(parent.authorization.clone()),
            user_agent: Some(parent.user_agent.clone()),
            http: None,
            max_connections: None,
            connections: Some(Connections {
                http: parent.http.clone(),
                service: parent.service.clone(),
                turns: Arc::clone(&parent.turns),
            }),
            layers: Vec::new(),
            on_attempt: parent.observer.hook.clone(),
            clock: Some(Arc::clone(&parent.clock)),
            options: parent.options.clone(),
        }
    }

    /// Where the gateway is, such as `https://api.example.com`; `{{environment}}_URL` unless set.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key; `{{environment}}_API_KEY` unless set.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.key = Key::Given(key.into());
        self
    }

    /// Calls without a key, whatever the environment says. Public operations need none.
    pub fn without_api_key(mut self) -> Self {
        self.key = Key::Header(None);
        self
    }

    /// The name of your app, such as `my-app/1.2`, for the `User-Agent`.
    pub fn app_name(mut self, name: &str) -> Self {
        let agent = Some(name).filter(|name| is_app_name(name)).map(|name| format!("{IDENTITY} {name}"));
        match agent.and_then(|agent| HeaderValue::try_from(agent).ok()) {
            Some(agent) => self.user_agent = Some(agent),
            None => self.options.fault = Some(format!("the name of an app is such as my-app/1.2, not {name:?}")),
        }
        self
    }

    option_methods!(options);

    /// What is told of each attempt of a call. With `{{environment}}_LOG=debug` in the environment, attempts are printed to
    /// standard error as well.
    pub fn on_attempt(mut self, hook: impl Fn(&Attempt) + Send + Sync + 'static) -> Self {
        self.on_attempt = Some(Arc::new(hook));
        self
    }

    /// The HTTP client underneath, with proxies, certificates and the like of your own. Redirects stay off.
    pub fn http(mut self, http: reqwest::ClientBuilder) -> Self {
        self.http = Some(http);
        self
    }

    /// How many calls are under way at once, and so about how many connections there are, for this client and those derived from
    /// it; 100 unless set. Other calls wait for their turn before the time of their attempt begins. A client that is derived with
    /// another limit has turns of its own.
    pub fn max_connections(mut self, most: usize) -> Self {
        if most == 0 || most > Semaphore::MAX_PERMITS {
            self.options.fault = Some("max_connections must be 1 or more".into());
        }
        self.max_connections = Some(most);
        self
    }

    /// A layer of [Tower](https://docs.rs/tower) around what sends requests; each attempt passes through it. Another one is put around
    /// those before.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<HttpService> + Send + Sync + 'static,
        L::Service: Service<Request, Response = reqwest::Response> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
        <L::Service as Service<Request>>::Error: Into<BoxError> + 'static,
    {
        self.layers.push(Box::new(move |inner| HttpService::new(layer.layer(inner).map_err(Into::into))));
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
    /// [`Error::Usage`] if there is no base URL or it isn't one of http or https, if no header can hold the key, if the name of
    /// the app is none, if a timeout is 0, if the environment names a proxy wrongly, or if the HTTP client cannot be made.
    pub fn build(self) -> Result<{{client}}, Error> {
        if let Some(fault) = self.options.fault {
            return Err(Error::Usage(fault));
        }
        let url = parse_url(self.base_url.or_else(|| variable("{{environment}}_URL")))?;
        let authorization = match self.key {
            Key::OfEnvironment => variable("{{environment}}_API_KEY").as_deref().map(authorization_by).transpose()?,
            Key::Given(key) if key.is_empty() => None,
            Key::Given(key) => Some(authorization_by(&key)?),
            Key::Header(authorization) => authorization,
        };
        let new_turns = |most: usize| Arc::new(Semaphore::new(most));
        let Connections { http, service, turns } = match (self.http, self.connections) {
            (None, Some(parents)) => {
                let turns = self.max_connections.map_or(parents.turns, new_turns);
                Connections { turns, ..parents }
            }
            (given, _) => {
                let most = self.max_connections.unwrap_or(MAX_CONNECTIONS);
                let http = http_client(given, most)?;
                let service = service_of(&http);
                Connections { http, service, turns: new_turns(most) }
            }
        };
        let logs = variable("{{environment}}_LOG").as_deref() == Some("debug");
        Ok({{client}} {
            shared: Arc::new(Shared {
                http,
                turns,
                service: self.layers.into_iter().fold(service, |service, layer| layer(service)),
                base_url: url.as_str().trim_end_matches('/').into(),
                origin: url.origin().ascii_serialization(),
                authorization,
                user_agent: self.user_agent.unwrap_or(HeaderValue::from_static(IDENTITY)),
                options: self.options,
                observer: Observer { hook: self.on_attempt, logs },
                clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            }),
        })
    }
}

/// The HTTP client of the caller, or one that knows the proxies of the environment, and keeps so many connections.
fn http_client(given: Option<reqwest::ClientBuilder>, most: usize) -> Result<reqwest::Client, Error> {
    let builder = match given {
        Some(builder) => builder,
        None => reqwest::Client::builder().pool_max_idle_per_host(most).proxy(proxy::of_environment()?),
    };
    builder
        .redirect(reqwest::redirect::Policy::none())
        // There is one place that retries, and one that limits the time.
        .retry(reqwest::retry::never())
        .connector_layer(ConnectTimeoutLayer)
        .build()
        .map_err(|error| Error::Usage(format!("the HTTP client cannot be made: {error}")))
}

fn parse_url(text: Option<String>) -> Result<Url, Error> {
    let text = text.ok_or_else(|| Error::Usage("no base URL: give one, or set {{environment}}_URL".into()))?;
    let is_address = |url: &Url| {
        let has_user = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "http" | "https") && url.has_host() && !has_user && !text.contains(['?', '#'])
    };
    // Without the URL, which may have a password.
    let fault = "the base URL must be one of http or https without user, password, query and fragment, such as https://api.example.com";
    Url::parse(&text).ok().filter(is_address).ok_or_else(|| Error::Usage(fault.into()))
}

/// Whether it is a token of HTTP, or two of them with a slash between.
fn is_app_name(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    text.split_once('/').map_or_else(|| is_token(text), |(name, version)| is_token(name) && is_token(version))
}

fn authorization_by(key: &str) -> Result<HeaderValue, Error> {
    // Says nothing of the key, which is a secret although it is wrong.
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| Error::Usage("the API key has characters that no header can hold".into()))?;
    value.set_sensitive(true);
    Ok(value)
}
