"""What Schemathesis cannot know from the document."""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# Rules that no JSON Schema can tell: a cursor must be one that the service gave, page × limit has an end, and an
# Idempotency-Key stands for one input.
BEYOND_JSON_SCHEMA = {"CURSOR_INVALID", "PAGE_TOO_DEEP", "IDEMPOTENCY_MISMATCH"}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps every failure but the refusal of a schema-valid input for one of these declared reasons."""
    if not isinstance(failure, RejectedPositiveData) or response.status_code not in (400, 422):
        return True
    return response.json()["error"]["json"]["data"]["reason"] not in BEYOND_JSON_SCHEMA
