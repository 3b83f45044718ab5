//! What came of a call, as the test compares it.

use content_gateway::{Attempt, Error, Response, types};
use serde_json::{Value, json};

pub fn game(game: &types::Game) -> Value {
    let reaction = game.viewer.as_ref().and_then(|viewer| viewer.reaction.as_ref());
    json!({ "id": game.id, "title": game.title, "reaction": reaction.map(types::ReactionType::as_str) })
}

/// The related games of a game.
pub fn related(output: &types::GameGetRelatedOutput) -> Value {
    json!({ "ids": output.items.iter().map(|game| &game.id).collect::<Vec<_>>() })
}

pub fn page(page: &content_gateway::Page<types::GameListOutput>) -> Value {
    let relation = page.total_relation.as_str();
    json!({ "ids": ids(&page.items), "totalRelation": relation, "hasNextPage": page.has_next_page() })
}

pub fn user(user: &types::CurrentUser) -> Value {
    let scopes = user.api_key.scopes.iter().map(types::Scope::as_str).collect::<Vec<_>>();
    json!({ "nickname": user.nickname, "scopes": scopes })
}

pub fn ids(games: &[types::GameSummary]) -> Vec<&str> {
    games.iter().map(|game| game.id.as_str()).collect()
}

/// What is known of a reply.
pub fn meta<T>(response: &Response<T>) -> Value {
    let limit = response.rate_limit.as_ref();
    let limit = limit.map(
        |limit| json!({ "policy": limit.policy, "remaining": limit.remaining, "resetSeconds": limit.reset_seconds }),
    );
    json!({
        "status": response.status,
        "requestId": response.request_id,
        "attempts": response.attempts,
        "replayed": response.replayed,
        "rateLimit": limit,
    })
}

/// The members of an error, its text and what `Debug` shows.
pub fn failure(error: &Error) -> Value {
    let api = error.as_api();
    let body = match error {
        Error::UnexpectedReply(reply) => Some(&reply.body),
        _ => None,
    };
    let members = json!({
        "type": error.kind().to_string(),
        "status": error.status(),
        "reason": error.reason(),
        "code": api.and_then(|error| error.code.as_deref()),
        "message": api.map(|error| &error.message),
        "issues": api.map(|error| &error.issues),
        "hint": api.and_then(|error| error.hint.as_deref()),
        "docs": api.and_then(|error| error.docs.as_deref()),
        "requestId": error.request_id(),
        "retryAfter": api.and_then(|error| error.retry_after).map(|wait| wait.as_secs_f64()),
        "idempotencyKey": error.idempotency_key(),
        "operation": error.operation(),
        "attempts": error.attempts(),
        "body": body,
    });
    json!({ "error": members, "text": error.to_string(), "debug": format!("{error:?}") })
}

/// An attempt, as the hook is told of it.
pub fn event(attempt: &Attempt) -> Value {
    json!({
        "operation": attempt.operation,
        "attempt": attempt.attempt,
        "status": attempt.status,
        "reason": attempt.reason,
        "error": attempt.error.map(|kind| kind.to_string()),
        "requestId": attempt.request_id,
        "wait": attempt.wait.map(|wait| wait.as_secs_f64()),
    })
}
