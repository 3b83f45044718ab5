// {{#events}}
//! Messages of webhooks, by the [Standard Webhooks](https://www.standardwebhooks.com) specification.

use std::{
    borrow::Cow,
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use serde_json::Value;
use sha2::Sha256;

use crate::{
    error::{Error, WebhookFault, WebhookVerificationError},
    types::Event,
};

const PREFIX: &str = "whsec_";
const CHALLENGE: &str = "webhook.challenge";
/// How far the time of a message may be from now, unless an option says.
const TOLERANCE: Duration = Duration::from_secs(300);

/// A message of a webhook whose signature was right.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WebhookMessage {
    /// The `webhook-id`, the same whenever the message is sent again: skip one that you have seen.
    pub id: String,
    /// What the message tells of, such as `game.created` or `webhook.challenge`. It is text, as new types may be added.
    pub type_: String,
    /// When that happened.
    pub timestamp: DateTime<Utc>,
    /// The event; none if the message has none, or one of a form that this SDK doesn't know.
    pub event: Option<Event>,
    /// Of a `webhook.challenge`, the text to answer as `{"challenge": …}`, with status 200.
    pub challenge: Option<String>,
}

/// The secrets of webhooks, with one of which a message has to be signed: one, or the new and the old one while it is rotated, or
/// those of several webhooks of one endpoint. Made of a text, or of an array, a slice or a vector of them.
#[derive(Clone)]
pub struct WebhookSecrets<'a>(Vec<&'a str>);

impl fmt::Debug for WebhookSecrets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookSecrets({})", self.0.len())
    }
}

impl<'a> From<&'a str> for WebhookSecrets<'a> {
    fn from(secret: &'a str) -> Self {
        Self(vec![secret])
    }
}

impl<'a> From<&'a String> for WebhookSecrets<'a> {
    fn from(secret: &'a String) -> Self {
        Self(vec![secret])
    }
}

impl<'a, const COUNT: usize> From<[&'a str; COUNT]> for WebhookSecrets<'a> {
    fn from(secrets: [&'a str; COUNT]) -> Self {
        Self(secrets.into())
    }
}

impl<'a, T: AsRef<str>> From<&'a [T]> for WebhookSecrets<'a> {
    fn from(secrets: &'a [T]) -> Self {
        Self(secrets.iter().map(AsRef::as_ref).collect())
    }
}

impl<'a, T: AsRef<str>> From<&'a Vec<T>> for WebhookSecrets<'a> {
    fn from(secrets: &'a Vec<T>) -> Self {
        secrets.as_slice().into()
    }
}

/// How messages of webhooks are checked otherwise than usual: `WebhookOptions::default().tolerance(Duration::from_secs(60))`.
#[derive(Clone, Debug)]
#[must_use = "options are for unwrap_webhook_with"]
pub struct WebhookOptions {
    tolerance: Duration,
    now: Option<SystemTime>,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self { tolerance: TOLERANCE, now: None }
    }
}

impl WebhookOptions {
    /// How far the time of a message may be from now; five minutes unless set.
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Another time than now, for tests.
    pub fn now(mut self, now: SystemTime) -> Self {
        self.now = Some(now);
        self
    }
}

/// Checks that a message was signed with the secret of a webhook, not more than five minutes ago, and reads it. Types of messages
/// that this SDK doesn't know are no error. A message comes at least once: see its [`id`](WebhookMessage::id).
///
/// The body is that of the request as it came, byte by byte. The headers are a `&HeaderMap`, or pairs of names, in any case, and
/// values. The secret begins with `whsec_`; there can be several.
///
/// # Errors
///
/// [`Error::WebhookVerification`] if the message cannot be trusted or read, which is to be answered with 400; [`Error::Usage`] if
/// there is no secret, or one that has not the form.
pub fn unwrap_webhook<'a, N, V>(
    body: &[u8],
    headers: impl IntoIterator<Item = (N, V)>,
    secrets: impl Into<WebhookSecrets<'a>>,
) -> Result<WebhookMessage, Error>
where
    N: AsRef<str>,
    V: AsRef<[u8]>,
{
    unwrap_webhook_with(&WebhookOptions::default(), body, headers, secrets)
}

/// [`unwrap_webhook`] with another tolerance, or at another time.
///
/// # Errors
///
/// Those of [`unwrap_webhook`].
pub fn unwrap_webhook_with<'a, N, V>(
    options: &WebhookOptions,
    body: &[u8],
    headers: impl IntoIterator<Item = (N, V)>,
    secrets: impl Into<WebhookSecrets<'a>>,
) -> Result<WebhookMessage, Error>
where
    N: AsRef<str>,
    V: AsRef<[u8]>,
{
    let macs = secrets.into().0.into_iter().map(mac_by).collect::<Result<Vec<_>, _>>()?;
    if macs.is_empty() {
        return Err(Error::Usage("there is no secret of a webhook".into()));
    }
    let Headers { id, timestamp, signatures } = Headers::of(headers)?;
    check_time(&timestamp, options)?;
    let whole = [&id, b".".as_slice(), &timestamp, b".", body];
    let count = macs.len();
    let mut contents = macs.into_iter().map(|mac| whole.iter().fold(mac, |mac, part| mac.chain_update(part)));
    if !contents.any(|content| is_signed(&content, &signatures)) {
        let whose = if count == 1 { "the secret" } else { "one of the secrets" };
        return Err(refused(WebhookFault::Signature, format!("no signature is that of {whose}")));
    }
    read(String::from_utf8_lossy(&id).into_owned(), body)
        .ok_or_else(|| refused(WebhookFault::Body, "the body is no message, although its signature is right"))
}

fn refused(fault: WebhookFault, text: impl Into<Cow<'static, str>>) -> Error {
    Error::WebhookVerification(WebhookVerificationError { fault, text: text.into() })
}

/// What signs by the key in a secret.
fn mac_by(secret: &str) -> Result<Hmac<Sha256>, Error> {
    let key = secret.strip_prefix(PREFIX).and_then(|text| STANDARD.decode(text).ok()).filter(|key| !key.is_empty());
    key.and_then(|key| Hmac::new_from_slice(&key).ok())
        .ok_or_else(|| Error::Usage(format!("the secret of a webhook must be {PREFIX} and base64")))
}

/// The headers of a message, none of them empty.
struct Headers {
    id: Vec<u8>,
    timestamp: Vec<u8>,
    signatures: Vec<u8>,
}

impl Headers {
    fn of<N: AsRef<str>, V: AsRef<[u8]>>(headers: impl IntoIterator<Item = (N, V)>) -> Result<Self, Error> {
        let mut found = Self { id: Vec::new(), timestamp: Vec::new(), signatures: Vec::new() };
        for (name, value) in headers {
            let place = match name.as_ref().to_ascii_lowercase().as_str() {
                "webhook-id" => &mut found.id,
                "webhook-timestamp" => &mut found.timestamp,
                "webhook-signature" => &mut found.signatures,
                _ => continue,
            };
            if !place.is_empty() {
                place.push(b' ');
            }
            place.extend_from_slice(value.as_ref());
        }
        let lacks = |text| Err(refused(WebhookFault::Header, text));
        match &found {
            Self { id, .. } if id.is_empty() => lacks("the header webhook-id lacks"),
            Self { timestamp, .. } if timestamp.is_empty() => lacks("the header webhook-timestamp lacks"),
            Self { signatures, .. } if signatures.is_empty() => lacks("the header webhook-signature lacks"),
            _ => Ok(found),
        }
    }
}

/// Refuses times that are none, or that are too far from now: an old message may be a repeated one.
fn check_time(timestamp: &[u8], options: &WebhookOptions) -> Result<(), Error> {
    let text = str::from_utf8(timestamp).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let sent = text.and_then(|text| text.parse::<u64>().ok());
    let sent = sent.ok_or_else(|| refused(WebhookFault::Timestamp, "the time is no number of seconds"))?;
    let now = options.now.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let limit = || format!("the message is more than {} s", options.tolerance.as_secs_f64());
    if Duration::from_secs(now.saturating_sub(sent)) > options.tolerance {
        return Err(refused(WebhookFault::Old, format!("{} old", limit())));
    }
    if Duration::from_secs(sent.saturating_sub(now)) > options.tolerance {
        return Err(refused(WebhookFault::Ahead, format!("{} ahead of the clock", limit())));
    }
    Ok(())
}

/// Whether one of the signatures is that of the content. Schemes that are not known are passed over.
fn is_signed(content: &Hmac<Sha256>, signatures: &[u8]) -> bool {
    let mut known = signatures.split(|byte| *byte == b' ').filter_map(|signature| signature.strip_prefix(b"v1,"));
    known.any(|text| STANDARD.decode(text).is_ok_and(|signature| content.clone().verify_slice(&signature).is_ok()))
}

/// The message in a body; none if there is none.
fn read(id: String, body: &[u8]) -> Option<WebhookMessage> {
    #[derive(Deserialize)]
    struct Body {
        r#type: String,
        timestamp: DateTime<Utc>,
        #[serde(default)]
        data: Value,
    }
    let Body { r#type: type_, timestamp, data } = serde_json::from_slice(body).ok()?;
    let challenge = data["challenge"].as_str().filter(|_| type_ == CHALLENGE).map(str::to_owned);
    Some(WebhookMessage { id, type_, timestamp, event: serde_json::from_value(data).ok(), challenge })
}
// {{/events}}
