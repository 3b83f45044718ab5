"""Unwraps the messages in the file WEBHOOK_VECTORS, and prints what became of each, in a line of JSON; then checks what else can be given."""

import json
import os
import pickle
from datetime import datetime, timezone
from email.message import Message
from pathlib import Path
from typing import Any

import httpx
from content_gateway import ContentGateway, WebhookFault, WebhookMessage, WebhookVerificationError, unwrap_webhook
from content_gateway.models import Event

file = json.loads(Path(os.environ["WEBHOOK_VECTORS"]).read_text("utf-8"))
secret: str = file["secret"]
now = datetime.fromisoformat(file["now"].replace("Z", "+00:00")).timestamp()


def create(gateway: ContentGateway) -> None:
    """Never called: what is required alone needs no name."""
    gateway.webhook.create("https://example.com", types=["game.created"])


def text_of(time: datetime) -> str:
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def described(message: WebhookMessage) -> dict[str, Any]:
    event = message.event
    return {
        "id": message.id,
        "type": message.type,
        "timestamp": text_of(message.timestamp),
        "event": event and event.to_dict() | {"at": text_of(event.at)},
        "challenge": message.challenge,
    }


def outcome_of(vector: dict[str, Any]) -> dict[str, Any]:
    try:
        secrets = vector.get("secrets", secret)
        tolerance = vector.get("toleranceSeconds", 300)
        message = unwrap_webhook(vector["body"], vector["headers"], secrets, tolerance=tolerance, now=now)
        return {"ok": described(message)}
    except WebhookVerificationError as error:
        shown = f"{error} {error!r} {vars(error)} {error.__cause__!r}"
        assert secret not in shown
        assert vector["headers"].get("webhook-signature", secret) not in shown
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.fault) == (str(error), error.fault)
        fault: WebhookFault = error.fault
        return {"error": fault}


for vector in file["vectors"]:
    print(json.dumps({"name": vector["name"]} | outcome_of(vector), ensure_ascii=False))

body: str = file["vectors"][0]["body"]
headers: dict[str, str] = file["vectors"][0]["headers"]
event: Event | None = unwrap_webhook(body, headers, secret, now=now).event
assert event and event.record.kind == "game"

mail = Message()
for name, value in headers.items():
    mail[name.title()] = value
for message in (
    unwrap_webhook(body.encode(), httpx.Headers(headers), ["whsec_YW5vdGhlcg==", secret], now=now),
    unwrap_webhook(bytearray(body.encode()), mail, (secret,), now=now),
    unwrap_webhook(memoryview(body.encode()), headers, secret, now=now + 0.9),
):
    assert message.event == event

# Without a time of its own, the machine's counts.
try:
    unwrap_webhook(body, headers, secret)
except WebhookVerificationError as error:
    assert (error.fault, str(error)) == ("old", "The message is more than 300 s old.")
else:
    raise AssertionError("an old message is taken")

for tolerance in (-1, float("nan")):
    try:
        unwrap_webhook(body, headers, secret, tolerance=tolerance)
    except ValueError:
        continue
    raise AssertionError(f"{tolerance} is taken")

wrong_secrets: list[Any] = ["", "whsec_", secret[6:], f"{secret}=", "whsec_a", "whsec_星", [], [secret, "a"], [None]]
for wrong in wrong_secrets:
    try:
        unwrap_webhook(body, headers, wrong, now=now)
    except ValueError as usage:
        assert secret[6:20] not in str(usage)
    else:
        raise AssertionError(f"{wrong} is taken")

try:
    unwrap_webhook(json.loads(body), headers, secret, now=now)
except TypeError:
    pass
else:
    raise AssertionError("a body that was parsed has lost what was signed")
