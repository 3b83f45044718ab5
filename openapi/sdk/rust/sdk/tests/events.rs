// {{#events}}
//! How feeds are followed, and what of messages of webhooks no shared vector shows.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use {{rust.library}}::{
    Change, Clock, {{client}}, Error, WebhookFault,
    reqwest::{Body, Request, Response, header::HeaderMap},
    WebhookOptions,
    types::{EventListInput, EventType, WebhookUpdateInput},
    unwrap_webhook, unwrap_webhook_with,
};
use serde_json::{Value, json};
use tower::{layer::layer_fn, service_fn};

/// A clock that notes waits in place of waiting.
#[derive(Clone, Debug, Default)]
struct Waits(Arc<Mutex<Vec<Duration>>>);

impl Clock for Waits {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(duration);
        Box::pin(async {})
    }
}

fn page(cursor: &str, has_more: bool, ids: &[&str]) -> (u16, Value) {
    let event = |id: &&str| {
        let record = json!({ "kind": "shelf", "id": "1" });
        json!({ "id": id, "position": 1, "type": "game.polished", "record": record, "actorId": null,
            "at": "2026-04-01T09:30:00.000Z" })
    };
    let items = ids.iter().map(event).collect::<Vec<_>>();
    let output = json!({ "items": items, "nextCursor": cursor, "hasMore": has_more });
    (200, json!({ "result": { "data": { "json": output } } }))
}

fn gone() -> (u16, Value) {
    let data = json!({ "reason": "EVENTS_GONE", "code": "NOT_FOUND" });
    (404, json!({ "error": { "json": { "message": "Gone.", "data": data } } }))
}

/// A client that gets these replies, the clock that it waits by, and the inputs that it sends.
fn client(replies: impl IntoIterator<Item = (u16, Value)>) -> ({{client}}, Waits, Arc<Mutex<Vec<Value>>>) {
    let (waits, inputs) = (Waits::default(), Arc::new(Mutex::new(Vec::new())));
    let left = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
    let sent = Arc::clone(&inputs);
    let service = service_fn(move |request: Request| {
        let is_tail = request.body().is_none();
        let body = request.body().and_then(Body::as_bytes).unwrap_or(br#"{"json":null}"#);
        let input = serde_json::from_slice::<Value>(body).unwrap()["json"].take();
        // There is no stream here.
        let reply = if is_tail { Some((405, Value::Null)) } else { left.lock().unwrap().pop_front() };
        if !is_tail {
            sent.lock().unwrap().push(input);
        }
        async move {
            let (status, body) = reply.ok_or("another page was asked for")?;
            let reply = http::Response::builder().status(status).body(body.to_string()).unwrap();
            Ok::<Response, &'static str>(reply.into())
        }
    });
    let builder = {{client}}::builder().base_url("http://gateway.invalid").without_api_key().max_retries(0);
    let gateway = builder.clock(waits.clone()).layer(layer_fn(move |_| service.clone())).build().unwrap();
    (gateway, waits, inputs)
}

#[tokio::test]
async fn follow_goes_on_with_the_cursor_and_waits_at_the_end() {
    let pages = [page("c1", true, &["a", "b"]), page("c2", false, &[]), page("c3", false, &["c"])];
    let (gateway, waits, inputs) = client(pages);
    let input = EventListInput { record_id: Some("1".into()), ..Default::default() };
    let hour = Duration::from_secs(3600);
    let mut events = gateway.event().follow(input).poll_interval(hour);
    assert_eq!(events.cursor(), None);
    for (id, cursor) in [("a", None), ("b", None), ("c", Some("c2"))] {
        assert_eq!(events.next().await.unwrap().unwrap().id, id);
        assert_eq!(events.cursor(), cursor, "at {id}");
    }
    assert_eq!(*waits.0.lock().unwrap(), [hour]);
    let after = |inputs: &[Value]| inputs.iter().map(|input| input["after"].clone()).collect::<Vec<_>>();
    assert_eq!(after(&inputs.lock().unwrap()), [Value::Null, json!("c1"), json!("c2")]);
    assert!(inputs.lock().unwrap().iter().all(|input| input["recordId"] == "1"));
    let starts = inputs.lock().unwrap().iter().map(|input| input["start"].clone()).collect::<Vec<_>>();
    assert_eq!(starts, [json!("latest"), Value::Null, Value::Null]);
}

#[tokio::test]
async fn follow_ends_with_the_error_of_a_page() {
    let (gateway, ..) = client([page("c1", true, &["a"]), gone()]);
    let mut events = gateway.event().follow(EventListInput::default());
    assert_eq!(events.next().await.unwrap().unwrap().id, "a");
    assert_eq!(events.next().await.unwrap().unwrap_err().reason(), Some("EVENTS_GONE"));
    assert!(events.next().await.is_none());
    assert_eq!(events.cursor(), Some("c1"));
}

#[tokio::test]
async fn a_cursor_that_leads_to_itself_is_asked_for_after_a_pause() {
    let (gateway, waits, _) = client([page("c1", true, &[]), page("c1", true, &["a"]), page("c2", true, &["b"])]);
    let mut events = gateway.event().follow(EventListInput::default());
    assert_eq!(events.next().await.unwrap().unwrap().id, "a");
    assert_eq!(events.next().await.unwrap().unwrap().id, "b");
    assert_eq!(*waits.0.lock().unwrap(), [Duration::from_secs(1)]);
}

#[tokio::test]
async fn a_poll_interval_of_nothing_is_a_usage_error() {
    let (gateway, ..) = client([]);
    let mut events = gateway.event().follow(EventListInput::default()).poll_interval(Duration::ZERO);
    assert!(matches!(events.next().await, Some(Err(Error::Usage(_)))));
}

#[cfg(feature = "blocking")]
#[test]
fn a_feed_can_be_followed_without_waiting_in_futures() {
    let (gateway, ..) = client([page("c1", false, &["a"]), page("c2", false, &["b"])]);
    let mut events = gateway.event().follow(EventListInput::default()).iter_blocking();
    let ids = events.by_ref().take(2).map(|event| event.unwrap().id).collect::<Vec<_>>();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(events.cursor(), Some("c1"));
}

#[tokio::test]
async fn an_update_leaves_sets_or_clears_a_list() {
    let (gateway, _, inputs) = client([]);
    let some = vec![EventType::GameCreated, "game.polished".into()];
    for types in [None, Some(Change::Clear), Some(Change::To(vec![])), Some(Change::To(some))] {
        // Only what is sent matters here.
        let _ = gateway.webhook().update(WebhookUpdateInput { id: "w1".into(), types, ..Default::default() }).await;
    }
    let sent = [
        json!({ "id": "w1" }),
        json!({ "id": "w1", "types": null }),
        json!({ "id": "w1", "types": [] }),
        json!({ "id": "w1", "types": ["game.created", "game.polished"] }),
    ];
    assert_eq!(*inputs.lock().unwrap(), sent);
}

#[test]
fn a_secret_without_the_form_is_a_usage_error_that_does_not_show_it() {
    for secret in ["", "whsec_", "whsec_%%%", "c2VjcmV0"] {
        let error = unwrap_webhook(b"", &HeaderMap::new(), secret).unwrap_err();
        assert!(matches!(error, Error::Usage(_)) && !error.to_string().contains("c2V"), "{secret}: {error}");
    }
}

#[test]
fn headers_are_found_in_any_case() {
    let headers = [("Webhook-Id", "1"), ("WEBHOOK-TIMESTAMP", "0"), ("webhook-signature", "v1,AAAA")];
    let Err(Error::WebhookVerification(refused)) = unwrap_webhook(b"", headers, "whsec_c2VjcmV0") else { panic!() };
    assert_eq!(refused.fault, WebhookFault::Old);
}

#[test]
fn an_error_says_whether_a_message_is_old_or_ahead() {
    let old = "webhook: the message is more than 30 s old";
    let ahead = "webhook: the message is more than 30 s ahead of the clock";
    let unsigned = "webhook: no signature is that of one of the secrets";
    let options = WebhookOptions::default()
        .tolerance(Duration::from_secs(30))
        .now(SystemTime::UNIX_EPOCH + Duration::from_secs(10_000));
    let refusals = [
        ("9969", old),
        ("0", old),
        ("10031", ahead),
        ("18446744073709551615", ahead),
        ("9970", unsigned),
        ("10030", unsigned),
        ("-1", "webhook: the time is no number of seconds"),
    ];
    for (sent, text) in refusals {
        let headers = [("webhook-id", "1"), ("webhook-timestamp", sent), ("webhook-signature", "v1,AAAA")];
        let error = unwrap_webhook_with(&options, b"", headers, ["whsec_c2VjcmV0", "whsec_AAAA"]).unwrap_err();
        assert_eq!(error.to_string(), text, "{sent}");
    }
    let none = unwrap_webhook(b"", &HeaderMap::new(), &Vec::<String>::new()).unwrap_err();
    assert!(matches!(none, Error::Usage(_)));
}
// {{/events}}
