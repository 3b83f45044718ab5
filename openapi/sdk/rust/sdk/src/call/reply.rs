//! What a reply says, once it is there as a whole.

use std::time::SystemTime;

use reqwest::header::{HeaderMap, LOCATION};
use serde_json::{Map, Value};

use super::{operation::Operation, retry::retry_after};
use crate::{
    error::{ApiError, Error, Fault, UnexpectedReplyError, media_type},
    types::Issue,
};

/// How much of a foreign body an error shows, in characters.
const BODY_SHOWN: usize = 500;
/// How many levels of JSON a reply may have, at least if it is not the gateway's.
const DEEPEST: usize = 100;

/// A reply, whoever it is from.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether the body was left before its end.
    pub(crate) is_too_long: bool,
}

/// Which call a reply is to.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) has_key: bool,
    pub(crate) origin: &'a str,
    /// The base URL without the user and password that it may have.
    pub(crate) address: &'a str,
    pub(crate) idempotency_key: Option<&'a str>,
    pub(crate) attempts: u32,
    pub(crate) now: SystemTime,
}

impl Reply {
    pub(crate) fn request_id(&self) -> Option<String> {
        Some(self.headers.get("X-Request-Id")?.to_str().ok()?.to_owned())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The output, with all of its members, of whatever types.
    pub(crate) fn output(&self, asked: Asked) -> Result<Map<String, Value>, Error> {
        if self.is_too_long {
            return Err(self.unexpected(asked, Fault::TooLong));
        }
        match self.status {
            200 => self.enveloped(asked).map_err(|fault| self.unexpected(asked, fault)),
            400.. => Err(self.failure(asked)),
            300..400 => {
                let target =
                    self.headers.get(LOCATION).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
                Err(self.unexpected(asked, target.map_or(Fault::Foreign, Fault::Redirect)))
            }
            _ => Err(self.unexpected(asked, Fault::Foreign)),
        }
    }

    fn enveloped(&self, asked: Asked) -> Result<Map<String, Value>, Fault> {
        let mut body = serde_json::from_slice::<Value>(&self.body).map_err(|error| self.fault_of_json(Some(&error)))?;
        let output = body.pointer_mut("/result/data/json").map(Value::take);
        let Some(Value::Object(output)) = output else { return Err(self.fault_of_json(None)) };
        match asked.operation.members.iter().find(|member| !output.contains_key(**member)) {
            Some(member) => Err(Fault::Lacks(member)),
            None => Ok(output),
        }
    }

    /// What is wrong with a body that cannot be read, or that has no envelope.
    fn fault_of_json(&self, error: Option<&serde_json::Error>) -> Fault {
        let is_json = matches!(media_type(&self.headers).as_deref(), None | Some("application/json"));
        match error {
            Some(_) if !is_json => Fault::Foreign,
            Some(_) if self.body.trim_ascii().is_empty() => Fault::Empty,
            _ if is_nested_deeper(&self.body, DEEPEST) => Fault::TooDeep,
            Some(error) if error.is_eof() => Fault::CutOff,
            Some(_) => Fault::NotJson,
            None => Fault::NoEnvelope,
        }
    }

    pub(crate) fn unexpected(&self, asked: Asked, fault: Fault) -> Error {
        // A character has 4 bytes at most.
        let shown = String::from_utf8_lossy(&self.body[..self.body.len().min(4 * BODY_SHOWN)]);
        Error::UnexpectedReply(Box::new(UnexpectedReplyError {
            status: self.status,
            request_id: self.request_id(),
            body: shown.chars().take(BODY_SHOWN).collect(),
            operation: asked.operation.id.clone(),
            attempts: asked.attempts,
            idempotency_key: asked.idempotency_key.map(str::to_owned),
            headers: self.headers.clone(),
            origin: asked.origin.into(),
            fault,
        }))
    }

    fn failure(&self, asked: Asked) -> Error {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let error = &body["error"]["json"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // Without a reason it is somebody else's. One who hasn't found the path says nothing of a record.
        let reason = text(&error["data"]["reason"]);
        if reason.is_none() && self.status == 404 {
            return self.unexpected(asked, Fault::Foreign);
        }
        let data = if reason.is_some() { &error["data"] } else { &Value::Null };
        let issues = data["issues"].as_array().into_iter().flatten();
        Error::Api(Box::new(ApiError {
            status: self.status,
            code: text(&data["code"]),
            message: text(&error["message"]).filter(|_| reason.is_some()).unwrap_or_default(),
            issues: issues.filter_map(|issue| serde_json::from_value::<Issue>(issue.clone()).ok()).collect(),
            hint: text(&data["hint"]),
            docs: text(&data["docs"])
                .map(|docs| if docs.starts_with('/') { format!("{}{docs}", asked.address) } else { docs }),
            request_id: text(&data["requestId"]).or_else(|| self.request_id()),
            retry_after: retry_after(&self.headers, asked.now),
            idempotency_key: asked.idempotency_key.map(str::to_owned),
            operation: asked.operation.id.clone(),
            attempts: asked.attempts,
            headers: self.headers.clone(),
            origin: asked.origin.into(),
            lacks_key: !asked.has_key,
            reason,
        }))
    }
}

/// Whether JSON has more levels of lists and objects than this.
fn is_nested_deeper(json: &[u8], levels: usize) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > levels {
            return true;
        }
    }
    false
}
