//! How calls are made: in asynchronous code, or blocking.

use std::{
    error::Error,
    future::{IntoFuture, pending},
    time::Duration,
};

use content_gateway::{Call, ContentGateway, Error as GatewayError, ListAll, Page, Response, types::GameListOutput};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, select, time::sleep};

use crate::{clock::FakeClock, report};

const LOST_INTEREST: Duration = Duration::from_millis(300);

/// The options that a client takes as well as a call.
macro_rules! with_options {
    ($target:expr, $options:expr) => {{
        let (mut target, options): (_, &serde_json::Value) = ($target, $options);
        if let Some(retries) = options["maxRetries"].as_u64() {
            target = target.max_retries(u32::try_from(retries)?);
        }
        if let Some(limit) = options["timeoutMs"].as_u64() {
            target = target.timeout(std::time::Duration::from_millis(limit));
        }
        if let Some(limit) = options["connectTimeoutMs"].as_u64() {
            target = target.connect_timeout(std::time::Duration::from_millis(limit));
        }
        for (name, value) in options["headers"].as_object().into_iter().flatten() {
            target = target.header(name, value.as_str().unwrap_or_default());
        }
        target
    }};
}
pub(crate) use with_options;

/// None if the call was cancelled.
type Outcome<T> = Option<Result<Response<T>, GatewayError>>;

pub enum Caller<'a> {
    Async(&'a Runtime),
    Blocking,
}

/// A vector's call, the options to give with it, and the clock of the client.
pub struct Task<'a> {
    pub call: &'a Value,
    pub options: &'a Value,
    pub clock: &'a FakeClock,
}

impl Caller<'_> {
    /// Makes the call. Returns what came of it.
    pub fn play(&self, gateway: &ContentGateway, task: &Task) -> Result<Value, Box<dyn Error>> {
        let Task { call, options, .. } = task;
        let input = call["input"].clone();
        match (call["operation"].as_str().unwrap_or_default(), call["form"].as_str()) {
            ("game.getById", _) => {
                self.once(task, gateway.game().get_by_id(serde_json::from_value(input)?), report::game)
            }
            ("game.create", _) => self.once(task, gateway.game().create(serde_json::from_value(input)?), report::game),
            ("user.me", _) => self.once(task, gateway.user().me(), report::user),
            ("game.list", Some("pages")) => self.pages(task, gateway.game().list(serde_json::from_value(input)?)),
            ("game.list", Some("all")) => {
                // Where there is no limit, the SDK chooses one.
                let mut whole = json!({ "limit": 0 });
                whole.as_object_mut().ok_or("no object")?.extend(input.as_object().cloned().unwrap_or_default());
                let all = gateway.game().list_all(serde_json::from_value(whole)?);
                let take = call["take"].as_u64().map_or(Ok(usize::MAX), usize::try_from)?;
                Ok(self.all(with_options!(all, options), take))
            }
            ("game.list", _) => self.once(task, gateway.game().list(serde_json::from_value(input)?), report::page),
            (other, _) => Err(format!("no call for {other}").into()),
        }
    }

    fn once<T: Send + 'static>(
        &self,
        task: &Task,
        call: Call<T>,
        brief: fn(&T) -> Value,
    ) -> Result<Value, Box<dyn Error>> {
        Ok(match self.send(task, call)? {
            None => json!({ "cancelled": true }),
            Some(Ok(response)) => json!({ "ok": brief(&response.data), "meta": report::meta(&response) }),
            Some(Err(error)) => report::failure(&error),
        })
    }

    fn pages(&self, task: &Task, first: Call<Page<GameListOutput>>) -> Result<Value, Box<dyn Error>> {
        let mut items = Vec::new();
        let mut next = Some(first);
        let mut line = json!({});
        while let Some(call) = next.take() {
            match self.send(task, call)? {
                None => line = json!({ "cancelled": true }),
                Some(Err(error)) => line = report::failure(&error),
                Some(Ok(Response { data: page, .. })) => {
                    items.extend(page.items.iter().map(|game| game.id.clone()));
                    next = page.next_page();
                }
            }
        }
        line["items"] = items.into();
        Ok(line)
    }

    fn all(&self, all: ListAll<GameListOutput>, take: usize) -> Value {
        let records = match self {
            Self::Async(runtime) => runtime.block_on(all.take(take).collect::<Vec<_>>()),
            Self::Blocking => all.iter_blocking().take(take).collect(),
        };
        let mut line = json!({});
        let mut items = Vec::new();
        for record in records {
            match record {
                Ok(game) => items.push(game.id),
                Err(error) => line = report::failure(&error),
            }
        }
        line["items"] = items.into();
        line
    }

    /// Sends a call with the options of the task.
    fn send<T: Send + 'static>(
        &self,
        Task { call: what, options, clock }: &Task,
        call: Call<T>,
    ) -> Result<Outcome<T>, Box<dyn Error>> {
        let mut call = with_options!(call, options);
        if let Some(key) = options["idempotencyKey"].as_str() {
            call = call.idempotency_key(key);
        }
        let cancelled = async {
            match what["cancel"].as_str() {
                Some("during-wait") => clock.waiting().await,
                Some("during-reply") => sleep(LOST_INTEREST).await,
                _ => pending().await,
            }
        };
        Ok(match self {
            Self::Blocking => Some(call.with_response().send_blocking()),
            Self::Async(runtime) => runtime.block_on(async {
                select! {
                    result = call.with_response().into_future() => Some(result),
                    () = cancelled => None,
                }
            }),
        })
    }
}
