//! How calls are made: in asynchronous code, or blocking.

use std::{
    error::Error,
    future::{IntoFuture, pending},
    iter::from_fn,
    thread::spawn,
    time::Duration,
};

use content_gateway::{
    Call, ContentGateway, Error as GatewayError, ListAll, ListPages, Page, Response,
    types::{GameGetByIdInput, GameInput, GameListOutput},
};
// {{#events}}
use content_gateway::{Follow, types::{EventListInput, EventListOutput}};
// {{/events}}
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, select, time::sleep};

use crate::{clock::FakeClock, report};

const LOST_INTEREST: Duration = Duration::from_millis(1000);

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
        let operation = call["operation"].as_str().unwrap_or_default();
        let take = call["take"].as_u64().map_or(Ok(usize::MAX), usize::try_from)?;
        match (operation, call["form"].as_str()) {
            (_, Some("generic")) => self.once(task, gateway.call(operation, input), Value::clone),
            ("game.getById", _) if call["scalar"] == true => {
                let id = input["id"].as_str().ok_or("no id")?;
                self.once(task, gateway.game().get_by_id(id), report::game)
            }
            ("game.getById", _) => {
                let input = serde_json::from_value::<GameGetByIdInput>(input)?;
                self.once(task, gateway.game().get_by_id(input), report::game)
            }
            ("game.getRelated", _) => {
                let id = input["gameId"].as_str().ok_or("no id")?;
                self.once(task, gateway.game().get_related(id), report::related)
            }
            ("game.create", _) => {
                let input = serde_json::from_value::<GameInput>(input)?;
                self.once(task, gateway.game().create(input), report::game)
            }
            ("user.search", _) => {
                let query = input["query"].as_str().ok_or("no query")?;
                self.once(task, gateway.user().search(query), |found| json!({ "count": found.items.len() }))
            }
            // {{#events}}
            (_, Some(form @ ("tail" | "follow"))) => {
                let from = if input.is_null() { json!({}) } else { input };
                let from = serde_json::from_value::<EventListInput>(from)?;
                let events = if form == "tail" { gateway.event().tail(from) } else { gateway.event().follow(from) };
                let mut events = with_options!(events, options);
                if let Some(silence) = options["silenceMs"].as_u64() {
                    events = events.silence(Duration::from_millis(silence));
                }
                Ok(self.events(events, take))
            }
            // {{/events}}
            ("user.me", _) => self.once(task, gateway.user().me(), report::user),
            ("game.list", Some("pages")) => self.pages(task, gateway.game().list(serde_json::from_value(input)?)),
            ("game.list", Some("all")) => {
                let mut all = gateway.game().list_all(serde_json::from_value(input)?);
                if let Some(most) = options["maxRecords"].as_u64() {
                    all = all.max_records(most);
                }
                Ok(self.all(with_options!(all, options), take))
            }
            ("game.list", Some("page-iterator")) => {
                let pages = gateway.game().list_pages(serde_json::from_value(input)?);
                Ok(self.every_page(with_options!(pages, options), take))
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
        let others = task.call["times"].as_u64().unwrap_or(1) - 1;
        Ok(match self.in_crowd(task, call, others)? {
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

    // {{#events}}
    fn events(&self, events: Follow<EventListOutput>, take: usize) -> Value {
        let events = match self {
            Self::Async(runtime) => runtime.block_on(events.take(take).collect::<Vec<_>>()),
            Self::Blocking => events.iter_blocking().take(take).collect(),
        };
        walk(events.into_iter().map(|event| Ok(vec![event?.id])))
    }
    // {{/events}}

    fn all(&self, all: ListAll<GameListOutput>, take: usize) -> Value {
        let records = match self {
            Self::Async(runtime) => runtime.block_on(all.take(take).collect::<Vec<_>>()),
            Self::Blocking => all.iter_blocking().take(take).collect(),
        };
        walk(records.into_iter().map(|record| Ok(vec![record?.id])))
    }

    /// Leaves the pages with the one that makes the records enough.
    fn every_page(&self, mut pages: ListPages<GameListOutput>, take: usize) -> Value {
        let mut pages: Box<dyn Iterator<Item = _>> = match self {
            Self::Async(runtime) => Box::new(from_fn(move || runtime.block_on(pages.next()))),
            Self::Blocking => Box::new(pages.iter_blocking()),
        };
        let mut left = take;
        walk(from_fn(|| {
            let games = (left > 0).then(|| pages.next())??.map(|page| page.into_inner().items);
            left = left.saturating_sub(games.as_ref().map_or(0, Vec::len));
            Some(games.map(|games| games.into_iter().map(|game| game.id).collect()))
        }))
    }

    /// Sends a call, and as many others like it at the same time, which must succeed.
    fn in_crowd<T: Send + 'static>(
        &self,
        task: &Task,
        call: Call<T>,
        others: u64,
    ) -> Result<Outcome<T>, Box<dyn Error>> {
        let crowd = (0..others).map(|_| call.clone());
        match self {
            Self::Blocking => {
                let threads = crowd.map(|other| spawn(move || other.send_blocking().is_ok())).collect::<Vec<_>>();
                let outcome = self.send(task, call)?;
                let succeeded = threads.into_iter().all(|thread| thread.join().is_ok_and(|succeeded| succeeded));
                succeeded.then_some(outcome).ok_or_else(|| "one of the crowd failed".into())
            }
            Self::Async(runtime) => {
                let tasks = crowd.map(|other| runtime.spawn(other.into_future())).collect::<Vec<_>>();
                let outcome = self.send(task, call)?;
                for task in tasks {
                    runtime.block_on(task)??;
                }
                Ok(outcome)
            }
        }
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

/// What came of a walk: the ids of the records, and the error if there is one.
fn walk(parts: impl Iterator<Item = Result<Vec<String>, GatewayError>>) -> Value {
    let mut line = json!({});
    let mut items = Vec::new();
    for part in parts {
        match part {
            Ok(ids) => items.extend(ids),
            Err(error) => line = report::failure(&error),
        }
    }
    line["items"] = items.into();
    line
}
