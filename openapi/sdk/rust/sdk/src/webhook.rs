// {{#events}}
//! Messages of webhooks, by the [Standard Webhooks](https://www.standardwebhooks.com) specification.

use std::time::{SystemTime, UNIX_EPOCH};

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
/// How far the time of a message may be from now, in seconds.
const TOLERANCE: u64 = 300;

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

/// Checks that a message was signed with the secret of a webhook, not more than five minutes ago, and reads it. Types of messages
/// that this SDK doesn't know are no error. A message comes at least once: see its [`id`](WebhookMessage::id).
///
/// The body is that of the request as it came, byte by byte. The headers are a `&HeaderMap`, or pairs of names, in any case, and
/// values. The secret begins with `whsec_`.
///
/// # Errors
///
/// [`Error::WebhookVerification`] if the message cannot be trusted or read, which is to be answered with 400; [`Error::Usage`] if
/// the secret has not the form.
pub fn unwrap_webhook<N, V>(
    body: &[u8],
    headers: impl IntoIterator<Item = (N, V)>,
    secret: &str,
) -> Result<WebhookMessage, Error>
where
    N: AsRef<str>,
    V: AsRef<[u8]>,
{
    unwrap_webhook_at(SystemTime::now(), body, headers, secret)
}

/// [`unwrap_webhook`] at another time than now, for tests.
///
/// # Errors
///
/// Those of [`unwrap_webhook`].
pub fn unwrap_webhook_at<N, V>(
    now: SystemTime,
    body: &[u8],
    headers: impl IntoIterator<Item = (N, V)>,
    secret: &str,
) -> Result<WebhookMessage, Error>
where
    N: AsRef<str>,
    V: AsRef<[u8]>,
{
    let mac = mac_by(secret)?;
    let Headers { id, timestamp, signatures } = Headers::of(headers)?;
    check_time(&timestamp, now)?;
    let content = [&id, b".".as_slice(), &timestamp, b".", body].iter().fold(mac, |mac, part| mac.chain_update(part));
    if !is_signed(&content, &signatures) {
        return Err(refused(WebhookFault::Signature, "no signature is that of the secret"));
    }
    read(String::from_utf8_lossy(&id).into_owned(), body)
        .ok_or_else(|| refused(WebhookFault::Body, "the body is no message, although its signature is right"))
}

fn refused(fault: WebhookFault, text: &'static str) -> Error {
    Error::WebhookVerification(WebhookVerificationError { fault, text })
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
fn check_time(timestamp: &[u8], now: SystemTime) -> Result<(), Error> {
    let text = str::from_utf8(timestamp).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let sent = text.and_then(|text| text.parse::<u64>().ok());
    let sent = sent.ok_or_else(|| refused(WebhookFault::Timestamp, "the time is no number of seconds"))?;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if now.abs_diff(sent) > TOLERANCE {
        return Err(refused(WebhookFault::Timestamp, "the time is more than five minutes from now"));
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
