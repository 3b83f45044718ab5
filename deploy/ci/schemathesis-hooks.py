"""What Schemathesis cannot know from the document."""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# Rules that no JSON Schema can tell: an Idempotency-Key stands for one input, operators say where webhooks may lead, a user
# has so many of them at most, and one whose endpoint does not answer is not active.
BEYOND_JSON_SCHEMA = {"IDEMPOTENCY_MISMATCH", "WEBHOOK_URL_FORBIDDEN", "WEBHOOK_LIMIT", "WEBHOOK_NOT_ACTIVE"}


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
