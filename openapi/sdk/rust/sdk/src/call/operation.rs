//! What the SDK knows of an operation.

use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};

use crate::{Call, {{client}}, operations::OPERATIONS};

/// An operation: one of the contract, or one that is newer than the SDK.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) id: Cow<'static, str>,
    pub(crate) path: Cow<'static, str>,
    /// Whether it takes an `Idempotency-Key`.
    pub(crate) writes: bool,
    /// What every output has.
    pub(crate) members: &'static [&'static str],
}

impl Operation {
    /// One of the contract.
    pub(crate) const fn known(
        id: &'static str,
        path: &'static str,
        writes: bool,
        members: &'static [&'static str],
    ) -> Self {
        Self { id: Cow::Borrowed(id), path: Cow::Borrowed(path), writes, members }
    }

    /// The operation of this name. One that the SDK doesn't know may write, so it takes an `Idempotency-Key`.
    fn named(name: &str) -> Self {
        let known = OPERATIONS.iter().find(|operation| operation.id == name);
        known.copied().cloned().unwrap_or_else(|| Self {
            id: Cow::Owned(name.to_owned()),
            path: Cow::Owned(format!("/api/trpc/{name}")),
            writes: true,
            members: &[],
        })
    }
}

/// Whether it is written as `game.getById`.
fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_lowercase())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    text.split_once('.').is_some_and(|(router, name)| is_part(router) && is_part(name))
}

impl {{client}} {
    /// A call of any operation by its name, such as `game.getById`: for those that are newer than the SDK. `()` is the input
    /// of operations without parameters.
    ///
    /// An operation that the SDK doesn't know is sent with an `Idempotency-Key`, so that trying again is safe.
    ///
    /// ```ignore
    /// let game: serde_json::Value = gateway.call("game.getRandom", json!({ "gameType": "RPG" })).await?;
    /// ```
    pub fn call<I: Serialize, O: DeserializeOwned>(&self, operation: &str, input: I) -> Call<O> {
        let mut call = Call::new(&self.shared, &Operation::named(operation), &input);
        if !is_name(operation) {
            call.options.fault = Some(format!("{operation:?} is no name of an operation, such as game.getById"));
        }
        call
    }
}
