//! What the SDK does before anything is sent, and what middleware gets to see.

use std::{
    future::{Future, IntoFuture},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use {{rust.library}}::{
    Clock, {{client}}, Error, ErrorKind,
    reqwest::{self, Request, Response},
    types::{GameListInput, ImageListInput},
};
use serde_json::{Value, json};
use tower::{ServiceBuilder, layer::layer_fn, service_fn};

#[derive(Debug)]
struct Hurried;

impl Clock for Hurried {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {})
    }
}

fn client() -> {{client}} {
    {{client}}::builder().base_url("http://gateway.invalid").without_api_key().clock(Hurried).build().unwrap()
}

#[tokio::test]
async fn each_attempt_passes_through_the_layers_the_last_one_first() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&seen);
    let broken = service_fn(move |request: Request| {
        let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        recorded.lock().unwrap().push((header("X-Outer"), header("X-Retry-Count")));
        async { Err::<Response, _>("no luck") }
    });
    let outer = ServiceBuilder::new().map_request(|mut request: Request| {
        request.headers_mut().insert("X-Outer", "1".parse().unwrap());
        request
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&told);
    let gateway = client()
        .with_options()
        .layer(layer_fn(move |_| broken.clone()))
        .layer(outer)
        .max_retries(1)
        .on_attempt(move |attempt| events.lock().unwrap().push((attempt.attempt, attempt.error)))
        .build()
        .unwrap();
    let error = gateway.game().get_by_id("g1").await.unwrap_err();
    assert_eq!(error.to_string(), "game.getById: no reply from http://gateway.invalid after 2 attempts: no luck");
    let outer = || Some("1".to_owned());
    assert_eq!(*seen.lock().unwrap(), [(outer(), None), (outer(), Some("1".to_owned()))]);
    let kind = Some(ErrorKind::ApiConnection);
    assert_eq!(*told.lock().unwrap(), [(1, kind), (2, kind)]);
}

/// A server that answers every request with this status. Returns its URL, and how many connections it took.
fn serve(status: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    thread::spawn(move || {
        for connection in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || answer(&mut BufReader::new(connection.unwrap()), status));
        }
    });
    (url, taken)
}

/// Answers the requests of a connection, one after the other.
fn answer(connection: &mut BufReader<TcpStream>, status: &str) -> Option<()> {
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            connection.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = line.split_once(": ") else { if line == "\r\n" { break } else { continue } };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        connection.read_exact(&mut vec![0; length]).ok()?;
        let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        connection.get_mut().write_all(reply.as_bytes()).ok()?;
    }
}

#[tokio::test]
async fn a_client_and_those_derived_of_it_share_their_connections() {
    let (url, taken) = serve("400 Bad Request");
    let gateway = client().with_options().base_url(url).build().unwrap();
    let derived = gateway.with_options().api_key("cgk_other").max_retries(0).build().unwrap();
    for client in [&gateway, &derived, &gateway] {
        let error = client.user().me().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
        // The connection is free once its task has run.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(taken.load(Ordering::SeqCst), 1);
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_proxy_that_wants_a_password_is_asked_once() {
    let (url, _) = serve("407 Proxy Authentication Required");
    let http = reqwest::Client::builder().proxy(reqwest::Proxy::https(url).unwrap());
    let gateway = client().with_options().base_url("https://gateway.invalid").http(http).build().unwrap();
    let error = gateway.game().get_by_id("g1").await.unwrap_err();
    let start = "game.getById: no reply from https://gateway.invalid after 1 attempt: ";
    assert!(error.to_string().starts_with(start), "{error}");
}

#[tokio::test]
async fn what_cannot_work_is_a_usage_error() {
    let is_usage = |error: &Error| matches!(error, Error::Usage(_));
    for name in ["", "my app", "my-app/", "a/b/c", "アプリ"] {
        assert!(is_usage(&client().with_options().app_name(name).build().unwrap_err()), "{name}");
    }
    for name in ["my-app", "my-app/1.2"] {
        assert!(client().with_options().app_name(name).build().is_ok(), "{name}");
    }
    for operation in ["", "game", "Game.list", "game.List", "game.", "game.list.all", "game/list", "game.get-one"] {
        assert!(is_usage(&client().call::<_, Value>(operation, ()).await.unwrap_err()), "{operation}");
    }
    assert!(is_usage(&client().call::<_, Value>("game.list", ["no object"]).await.unwrap_err()));
    for address in [
        "https://me:hunter2@gateway.invalid",
        "https://hunter2@gateway.invalid",
        "https://:hunter2@gateway.invalid/base",
        "https://me%40:hunter2%2f@gateway.invalid",
        "https:\\\\me:hunter2@gateway.invalid",
        "https://gateway.invalid?key=hunter2",
        "https://gateway.invalid?",
        "https://gateway.invalid/#hunter2",
        "ftp://gateway.invalid/hunter2",
        "https://gateway.invalid:65536/hunter2",
    ] {
        let error = client().with_options().base_url(address).build().unwrap_err();
        assert!(is_usage(&error) && !format!("{error} {error:?}").contains("hunter2"), "{address}: {error}");
    }
    let mut none = client().game().list_all(GameListInput::default()).max_records(0);
    assert!(is_usage(&none.next().await.unwrap().unwrap_err()));
    assert!(none.next().await.is_none());
}

/// What a call needs of Tokio is told, and no panic.
#[test]
fn a_call_without_a_runtime_is_a_usage_error() {
    let error = futures_util::FutureExt::now_or_never(client().user().me().into_future()).unwrap().unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    assert_eq!(error.to_string(), "user.me: calls must be awaited within a Tokio runtime");
}

#[tokio::test]
async fn a_crowd_of_calls_waits_for_its_turn() {
    let (url, taken) = serve("400 Bad Request");
    let gateway = client().with_options().base_url(url).max_connections(5);
    let gateway = gateway.http(reqwest::Client::builder()).build().unwrap();
    let derived = gateway.with_options().api_key("cgk_other").build().unwrap();
    for _ in 0..2 {
        let calls = (0..500).map(|number| tokio::spawn(if number % 2 == 0 { &gateway } else { &derived }.user().me().into_future()));
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::BadRequest);
        }
    }
    assert_eq!(taken.load(Ordering::SeqCst), 5);
    assert!(matches!(client().with_options().max_connections(0).build(), Err(Error::Usage(_))));
}

/// Who needs no https leaves the feature out.
#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn https_without_its_feature_says_which_that_is() {
    let error = client().with_options().base_url("https://127.0.0.1:1").build().unwrap().user().me().await.unwrap_err();
    let start = "user.me: https://127.0.0.1:1 is reached by https, for which the crate {{rust.crate}} needs its feature `tls`";
    assert_eq!(error.to_string(), start);
}

#[tokio::test]
async fn a_list_names_a_page_and_its_size() {
    let inputs = Arc::new(Mutex::new(Vec::new()));
    let sent = Arc::clone(&inputs);
    let service = service_fn(move |request: Request| {
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        sent.lock().unwrap().push(serde_json::from_slice::<Value>(body).unwrap()["json"].take());
        let cursor = format!("n{}", sent.lock().unwrap().len());
        async move {
            let page = json!({ "items": [], "page": 1, "limit": 1, "total": 0, "totalRelation": "eq", "hasMore": true, "nextCursor": cursor });
            let body = json!({ "result": { "data": { "json": page } } }).to_string();
            Ok::<_, reqwest::Error>(http::Response::new(body).into())
        }
    });
    let gateway = client().with_options().layer(layer_fn(move |_| service.clone())).build().unwrap();
    let given = [
        ImageListInput::default(),
        ImageListInput { page: Some(4), limit: Some(7), ..Default::default() },
        ImageListInput { cursor: Some("c".into()), ..Default::default() },
    ];
    for input in given {
        gateway.image().list(input).await.unwrap().next_page().unwrap().await.unwrap();
    }
    gateway.user().search("ab").await.unwrap();
    let wanted = [
        json!({ "page": 1, "limit": 20 }),
        json!({ "page": 2, "limit": 20, "cursor": "n1" }),
        json!({ "page": 4, "limit": 7 }),
        json!({ "page": 5, "limit": 7, "cursor": "n3" }),
        json!({ "limit": 20, "cursor": "c" }),
        json!({ "limit": 20, "cursor": "n5" }),
        json!({ "query": "ab", "limit": 20 }),
    ];
    assert_eq!(*inputs.lock().unwrap(), wanted);
}
