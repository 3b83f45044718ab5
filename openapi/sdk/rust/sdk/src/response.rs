use reqwest::header::HeaderMap;

/// What an operation answered, and what came along with it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response<T> {
    /// The output.
    pub data: T,
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The id of the request, to name to the operator.
    pub request_id: Option<String>,
    /// How much of the rate limit is left, if the service says so.
    pub rate_limit: Option<RateLimit>,
    /// Whether this is the stored reply of an earlier call with the same `Idempotency-Key`.
    pub replayed: bool,
    /// How often it was tried.
    pub attempts: u32,
    /// The body, as it came.
    pub body: String,
}

impl<T> Response<T> {
    pub(crate) fn new(data: T, status: u16, headers: HeaderMap, attempts: u32, body: String) -> Self {
        let text = |name| headers.get(name)?.to_str().ok();
        Self {
            data,
            status,
            request_id: text("X-Request-Id").map(str::to_owned),
            rate_limit: RateLimit::of(&headers),
            replayed: text("Idempotency-Replayed") == Some("true"),
            attempts,
            body,
            headers,
        }
    }
}

/// How much of a rate limit is left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// The name of the limit, such as `read`.
    pub policy: String,
    /// How many calls are left.
    pub remaining: u64,
    /// The seconds until all are there again.
    pub reset_seconds: u64,
}

impl RateLimit {
    /// What `RateLimit: "read";r=599;t=1` says.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get("RateLimit")?.to_str().ok()?;
        let mut parts = text.split(',').next()?.split(';').map(str::trim);
        let policy = parts.next()?.strip_prefix('"')?.strip_suffix('"')?.to_owned();
        let parameters = parts.filter_map(|part| part.split_once('=')).collect::<Vec<_>>();
        let number = |name| parameters.iter().find(|(key, _)| *key == name)?.1.parse().ok();
        Some(Self { policy, remaining: number("r")?, reset_seconds: number("t")? })
    }
}
