//! What is known of a failure, by where it came from.

use std::{borrow::Cow, error::Error as StdError, time::Duration};

use reqwest::header::HeaderMap;

use crate::types::Issue;

/// A failure that the service answered, or somebody on the way to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, such as `GAME_NOT_FOUND`: what to branch on. It is text, as new reasons may be added. None where
    /// the reply lacks the gateway's error envelope.
    pub reason: Option<String>,
    /// The code of tRPC, such as `NOT_FOUND`.
    pub code: Option<String>,
    /// What went wrong, in the service's own words; empty without the envelope.
    pub message: String,
    /// Every fault of the input, of a `VALIDATION_FAILED`.
    pub issues: Vec<Issue>,
    /// What may help.
    pub hint: Option<String>,
    /// The address of the page about the reason, if the service names one.
    pub docs: Option<String>,
    /// The id of the request, to name to the operator.
    pub request_id: Option<String>,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    /// The operation, such as `game.create`.
    pub operation: Cow<'static, str>,
    /// How often it was tried.
    pub attempts: u32,
    /// The headers of the reply.
    pub headers: HeaderMap,
    pub(crate) origin: String,
    /// Whether it was called without a key.
    pub(crate) lacks_key: bool,
}

/// No reply, or not the whole.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApiConnectionError {
    /// The operation, such as `game.create`.
    pub operation: Cow<'static, str>,
    /// How often it was tried.
    pub attempts: u32,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    pub(crate) origin: String,
    pub(crate) cause: Box<dyn StdError + Send + Sync>,
    /// Whether another attempt may go better.
    pub(crate) may_pass: bool,
}

/// No reply in time, or no connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiTimeoutError {
    /// The operation, such as `game.create`.
    pub operation: Cow<'static, str>,
    /// How often it was tried.
    pub attempts: u32,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    /// The time that was not enough.
    pub limit: Duration,
    /// Whether there was no connection.
    pub while_connecting: bool,
    pub(crate) origin: String,
}

/// A reply that isn't the gateway's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnexpectedReplyError {
    /// The HTTP status.
    pub status: u16,
    /// The id of the request, if the reply has one.
    pub request_id: Option<String>,
    /// The first 500 characters of the body.
    pub body: String,
    /// The operation, such as `game.create`.
    pub operation: Cow<'static, str>,
    /// How often it was tried.
    pub attempts: u32,
    /// The `Idempotency-Key` that the call was sent with; none on reads.
    pub idempotency_key: Option<String>,
    /// The headers of the reply.
    pub headers: HeaderMap,
    pub(crate) origin: String,
    pub(crate) fault: Fault,
}

/// Why a message of a webhook was refused. It holds neither the secret nor a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookVerificationError {
    /// What is wrong.
    pub fault: WebhookFault,
    pub(crate) text: Cow<'static, str>,
}

/// What is wrong with a message of a webhook, in the order in which it is looked at. Its text is a word, such as `signature`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WebhookFault {
    /// A header lacks.
    Header,
    /// The time is no number of seconds.
    Timestamp,
    /// The message is too old: it may be a repeated one.
    Old,
    /// The time of the message is yet to come: one of the two clocks is wrong.
    Ahead,
    /// No signature is that of a secret.
    Signature,
    /// The body is no message, although its signature is right.
    Body,
}

/// What tells that a reply isn't the gateway's.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Foreign,
    // {{#events}}
    NoStream,
    // {{/events}}
    Redirect(String),
    Empty,
    CutOff,
    NotJson,
    TooDeep,
    TooLong,
    NoEnvelope,
    Lacks(&'static str),
    SameCursor,
    Unreadable(String),
}

/// How much of what others wrote an error shows, in characters.
const SHOWN: usize = 200;

impl Fault {
    /// A member is not of its type; the path to it comes first.
    pub(crate) fn unreadable(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        Self::Unreadable(error.to_string().chars().take(SHOWN).collect())
    }
}
