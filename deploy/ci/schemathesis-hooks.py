"""What Schemathesis cannot know from the document."""

import json
import re

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# Rules that no JSON Schema can tell: an Idempotency-Key stands for one input, operators say where webhooks may lead, a user
# has so many of them, and of contracts, at most, one whose endpoint does not answer is not active, so many secrets of one sign at
# once, and a contract names only what the gateway has.
BEYOND_JSON_SCHEMA = {
    "IDEMPOTENCY_MISMATCH",
    "WEBHOOK_URL_FORBIDDEN",
    "WEBHOOK_LIMIT",
    "WEBHOOK_NOT_ACTIVE",
    "WEBHOOK_SECRET_LIMIT",
    "CONTRACT_LIMIT",
    "CONTRACT_UNKNOWN",
}


def share_strategies():
    """Has Hypothesis make what generates texts of a pattern once: to make it anew for each case takes longer than all else."""
    from hypothesis.strategies._internal import regex as patterns

    build, unwrap, shared = patterns.regex_strategy, patterns.unwrap_strategies, {}

    def shared_strategy(pattern, fullmatch, *, alphabet, **options):
        compiled = pattern if isinstance(pattern, re.Pattern) else re.compile(pattern)
        characters = None if alphabet is None else unwrap(alphabet).intervals
        key = (compiled, fullmatch, characters, *options.items())
        if key not in shared:
            shared[key] = build(compiled, fullmatch, alphabet=alphabet, **options)
        return shared[key]

    patterns.regex_strategy = shared_strategy


try:
    share_strategies()
except (ImportError, AttributeError):
    pass  # Another version of Hypothesis has it elsewhere; the tests then take longer.


# The game and the image post of the examples. Without them, most calls of other operations would be 404.
KEPT_IDS = {"019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02", "019a3c5e-a040-7d74-8e41-8c3fbd509104"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Has deletions of the kept records name another one."""
    sent = case.body.get("json") if isinstance(case.body, dict) else None
    if case.operation.path.endswith(("/game.delete", "/image.delete")) and isinstance(sent, dict):
        if str(sent.get("id")) in KEPT_IDS:
            sent["id"] = "deleted"


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Lets each message of a stream pass: before OpenAPI 3.2, Schemathesis holds it against the schema of their text."""
    raw_schema["components"]["schemas"]["EventStream"].pop("type")


def is_blank_beyond(error, text):
    """Whether all faults are texts that show nothing, some characters of which no pattern of every dialect can name."""
    codes = {issue["code"] for issue in error.get("issues", [])}
    return codes == {"blank"} and any(ord(character) > 0xFFFF for character in text)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps every failure but the refusal of a schema-valid input for these declared reasons."""
    if not isinstance(failure, RejectedPositiveData) or response.status_code not in (400, 422):
        return True
    error = response.json()["error"]["json"]["data"]
    sent = json.dumps(case.body, ensure_ascii=False, default=str)
    return error["reason"] not in BEYOND_JSON_SCHEMA and not is_blank_beyond(error, sent)
