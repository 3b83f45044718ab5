//! A client of the content gateway: games, image posts and users.

use std::{fmt, time::Duration};

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};

#[allow(clippy::all)]
mod generated;

pub use generated::{procedures, types};
use procedures::{GameProcedures, ImageProcedures, UserProcedures};

/// The content gateway. Each method takes the parameters of a procedure and returns its output.
#[derive(Clone, Debug)]
pub struct ContentGateway {
    client: generated::Client,
}

impl ContentGateway {
    /// The gateway at `base_url`, such as `https://content.example.com`. Without a key only public procedures can be
    /// called.
    pub fn new(base_url: &str, api_key: Option<&str>) -> Result<Self, Error> {
        let mut headers = HeaderMap::new();
        if let Some(key) = api_key {
            let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| Error::Key)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let http = reqwest::Client::builder().default_headers(headers).timeout(Duration::from_secs(30)).build();
        Ok(Self::with_client(base_url, http.map_err(|error| Error::Transport(error.into()))?))
    }

    /// The gateway at `base_url`, called by a client of your own, which sends the key.
    pub fn with_client(base_url: &str, http: reqwest::Client) -> Self {
        Self { client: generated::Client::new_with_client(base_url.trim_end_matches('/'), http) }
    }

    /// Publish, list, read and favor games, and react to them.
    pub fn game(&self) -> GameProcedures<'_> {
        GameProcedures(&self.client, None)
    }

    /// Publish, list, read, change and favor image posts, and react to them.
    pub fn image(&self) -> ImageProcedures<'_> {
        ImageProcedures(&self.client, None)
    }

    /// Read and search users, and change one's own profile.
    pub fn user(&self) -> UserProcedures<'_> {
        UserProcedures(&self.client, None)
    }
}

/// Why a call failed.
#[derive(Debug)]
pub enum Error {
    /// The service answered a failure: branch on its `data.reason`, such as `GAME_NOT_FOUND`.
    Refused(Box<types::ErrorPayload>),
    /// There was no reply, or none of the service.
    Transport(Box<dyn std::error::Error + Send + Sync>),
    /// The key cannot be sent in a header.
    Key,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(payload) => write!(f, "{}: {}", payload.data.reason, payload.message),
            Self::Transport(error) => error.fmt(f),
            Self::Key => f.write_str("the API key has characters that no header can hold"),
        }
    }
}

impl std::error::Error for Error {}

/// What an update does to a text that can be cleared; `None` leaves it as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Option<String>", from = "Option<String>")]
pub enum Change {
    Clear,
    To(String),
}

impl From<Change> for Option<String> {
    fn from(change: Change) -> Self {
        match change {
            Change::Clear => None,
            Change::To(text) => Some(text),
        }
    }
}

impl From<Option<String>> for Change {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Clear, Self::To)
    }
}

type Reply<T> = Result<generated::ResponseValue<T>, generated::Error<types::ErrorResponse>>;

pub(crate) async fn unwrap<T>(reply: Reply<T>) -> Result<T, Error> {
    match reply {
        Ok(value) => Ok(value.into_inner()),
        Err(generated::Error::ErrorResponse(value)) => Err(Error::Refused(Box::new(value.into_inner().error.json))),
        Err(generated::Error::UnexpectedResponse(response)) => Err(undocumented(response).await),
        Err(error) => Err(Error::Transport(error.to_string().into())),
    }
}

/// A status that the document does not list for this procedure: the service's own, or a proxy's.
async fn undocumented(response: reqwest::Response) -> Error {
    let message = format!("status {} without the error envelope: is {} the gateway?", response.status(), response.url());
    match response.json::<types::ErrorResponse>().await {
        Ok(body) => Error::Refused(Box::new(body.error.json)),
        Err(_) => Error::Transport(message.into()),
    }
}
