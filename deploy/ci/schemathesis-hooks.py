"""What Schemathesis cannot know from the document."""

import re

import schemathesis
from hypothesis.strategies._internal import regex as patterns
from schemathesis.openapi.checks import RejectedPositiveData

# Rules that no JSON Schema can tell: an Idempotency-Key stands for one input, operators say where webhooks may lead, a user
# has so many of them at most, and one whose endpoint does not answer is not active.
BEYOND_JSON_SCHEMA = {"IDEMPOTENCY_MISMATCH", "WEBHOOK_URL_FORBIDDEN", "WEBHOOK_LIMIT", "WEBHOOK_NOT_ACTIVE"}

build_strategy = patterns.regex_strategy
strategies = {}


def shared_strategy(pattern, fullmatch, *, alphabet, **options):
    """Makes what generates texts of a pattern once: to make it anew for each case takes longer than all else."""
    compiled = pattern if isinstance(pattern, re.Pattern) else re.compile(pattern)
    characters = None if alphabet is None else patterns.unwrap_strategies(alphabet).intervals
    key = (compiled, fullmatch, characters, *options.items())
    if key not in strategies:
        strategies[key] = build_strategy(compiled, fullmatch, alphabet=alphabet, **options)
    return strategies[key]


patterns.regex_strategy = shared_strategy


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Lets each message of a stream pass: before OpenAPI 3.2, Schemathesis holds it against the schema of their text."""
    raw_schema["components"]["schemas"]["EventStream"].pop("type")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps every failure but the refusal of a schema-valid input for these declared reasons."""
    if not isinstance(failure, RejectedPositiveData) or response.status_code != 422:
        return True
    return response.json()["error"]["json"]["data"]["reason"] not in BEYOND_JSON_SCHEMA
