"""What Schemathesis cannot know from the document."""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# A rule that no JSON Schema can tell: an Idempotency-Key stands for one input.
BEYOND_JSON_SCHEMA = {"IDEMPOTENCY_MISMATCH"}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps every failure but the refusal of a schema-valid input for this declared reason."""
    if not isinstance(failure, RejectedPositiveData) or response.status_code != 422:
        return True
    return response.json()["error"]["json"]["data"]["reason"] not in BEYOND_JSON_SCHEMA
