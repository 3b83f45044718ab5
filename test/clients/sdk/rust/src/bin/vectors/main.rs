//! `vectors [blocking]`: does what the fault server at VECTORS_URL lists, and prints a line of JSON on each.

mod caller;
mod clock;
mod report;

use std::{
    env,
    error::Error,
    panic::resume_unwind,
    sync::{Arc, Mutex},
    time::Duration,
};

use content_gateway::{ContentGateway, reqwest};
use serde_json::{Value, json};
use tokio::runtime;

use caller::{Caller, Task, with_options};
use clock::FakeClock;

fn main() -> Result<(), Box<dyn Error>> {
    let is_blocking = env::args().nth(1).as_deref() == Some("blocking");
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let url = format!("{}/vectors?run={}", env::var("VECTORS_URL")?, env::var("VECTORS_RUN")?);
    // The environment names the server as a proxy, which the list is not asked of.
    let http = reqwest::Client::builder().no_proxy().build()?;
    let list = runtime.block_on(async { http.get(url).send().await?.text().await })?;
    for (index, vector) in serde_json::from_str::<Vec<Value>>(&list)?.iter().enumerate() {
        // Who blocks cannot do anything else, such as to cancel.
        let mut line = match is_blocking && vector["call"]["cancel"].is_string() {
            true => json!({ "skipped": "a blocking call cannot be cancelled" }),
            false => {
                play(vector, index % 2 == 1, if is_blocking { Caller::Blocking } else { Caller::Async(&runtime) })?
            }
        };
        line["name"] = vector["name"].clone();
        println!("{line}");
    }
    Ok(())
}

/// Makes the call of a vector. What a client can be told once for all calls, it is told there if `at_client`.
fn play(vector: &Value, at_client: bool, caller: Caller) -> Result<Value, Box<dyn Error>> {
    let call = &vector["call"];
    let offset = Duration::from_secs(vector["clockOffsetSeconds"].as_i64().unwrap_or(0).unsigned_abs());
    let is_behind = vector["clockOffsetSeconds"].as_i64().is_some_and(i64::is_negative);
    let clock = FakeClock::new(offset, is_behind, call["cancel"] == "during-wait");

    let options = &call["options"];
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&events);
    let mut builder = ContentGateway::builder()
        .base_url(vector["baseUrl"].as_str().ok_or("no base URL")?)
        .clock(clock.clone())
        .on_attempt(move |attempt| {
            told.lock().expect("nobody panics").push(report::event(attempt));
            // A panic that prints nothing. It must break no call.
            resume_unwind(Box::new("a hook that panics"));
        });
    if call["via"] == "withOptions" {
        let first = builder.api_key("cgk_other").max_retries(0).header("X-First", "1").build()?;
        builder = first.with_options();
    }
    if let Some(most) = options["maxConnections"].as_u64() {
        builder = builder.max_connections(usize::try_from(most)?);
    }
    if let Some(name) = options["appName"].as_str() {
        builder = builder.app_name(name);
    }
    builder = match vector["key"].as_str() {
        Some(key) => builder.api_key(key),
        None => builder.without_api_key(),
    };
    let gateway = if at_client { with_options!(builder, options) } else { builder }.build()?;
    let of_call = if at_client {
        json!({
            "idempotencyKey": options["idempotencyKey"], "maxRecords": options["maxRecords"], "silenceMs": options["silenceMs"],
        })
    } else {
        options.clone()
    };

    let mut line = caller.play(&gateway, &Task { call, options: &of_call, clock: &clock })?;
    line["waits"] = json!(clock.waits());
    line["events"] = json!(*events.lock().expect("nobody panics"));
    let error = line["debug"].as_str().unwrap_or_default();
    line["debug"] = format!("{error} {gateway:?}").into();
    Ok(line)
}
