// {{#events}}
//! Takes or refuses the messages of the file that WEBHOOK_VECTORS names, and prints what comes of each as a line of JSON.

use std::{env, error::Error, fs, time::{Duration, SystemTime}};

use chrono::{DateTime, SecondsFormat, Utc};
use content_gateway::{Error as GatewayError, WebhookMessage, WebhookOptions, types::Event, unwrap_webhook_with};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let messages: Value = serde_json::from_str(&fs::read_to_string(env::var("WEBHOOK_VECTORS")?)?)?;
    let now = SystemTime::from(messages["now"].as_str().ok_or("no time")?.parse::<DateTime<Utc>>()?);
    let secret = messages["secret"].as_str().ok_or("no secret")?;
    for vector in messages["vectors"].as_array().ok_or("no vectors")? {
        let body = vector["body"].as_str().ok_or("no body")?;
        let headers = vector["headers"].as_object().ok_or("no headers")?;
        let pairs = headers.iter().map(|(name, value)| (name, value.as_str().unwrap_or_default()));
        let several = vector["secrets"].as_array().map(|secrets| secrets.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        let mut options = WebhookOptions::default().now(now);
        if let Some(seconds) = vector["toleranceSeconds"].as_u64() {
            options = options.tolerance(Duration::from_secs(seconds));
        }
        let outcome = match unwrap_webhook_with(&options, body.as_bytes(), pairs, &several.unwrap_or_else(|| vec![secret])) {
            Ok(message) => json!({ "name": vector["name"], "ok": members_of(&message) }),
            Err(GatewayError::WebhookVerification(refused)) => {
                json!({ "name": vector["name"], "error": refused.fault.to_string() })
            }
            Err(error) => return Err(error.into()),
        };
        println!("{outcome}");
    }
    Ok(())
}

fn members_of(message: &WebhookMessage) -> Value {
    json!({
        "id": message.id,
        "type": message.type_,
        "timestamp": text_of(&message.timestamp),
        "event": message.event.as_ref().map(members_of_event),
        "challenge": message.challenge,
    })
}

fn members_of_event(event: &Event) -> Value {
    json!({
        "id": event.id,
        "position": event.position,
        "type": event.type_,
        "record": event.record,
        "actorId": event.actor_id,
        "at": text_of(&event.at),
    })
}

fn text_of(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
// {{/events}}
