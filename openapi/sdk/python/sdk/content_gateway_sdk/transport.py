from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from .client import Client
from .models import ErrorData, ErrorResponse, Issue
from .types import Unset


class GatewayError(Exception):
    """A failure that the service answered; ``str()`` of it is the message."""

    def __init__(self, response: ErrorResponse) -> None:
        super().__init__(response.error.json.message)
        self._data: ErrorData = response.error.json.data

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._data.http_status

    @property
    def reason(self) -> str:
        """The stable cause to branch on, such as ``GAME_NOT_FOUND``."""
        return self._data.reason

    @property
    def code(self) -> str:
        """The kind of failure, such as ``NOT_FOUND``."""
        return self._data.code

    @property
    def issues(self) -> Sequence[Issue]:
        """Every fault of the input, when the reason is ``VALIDATION_FAILED``; else empty."""
        return [] if isinstance(self._data.issues, Unset) else self._data.issues

    @property
    def hint(self) -> str | None:
        """What to do about it, if there is something."""
        return None if isinstance(self._data.hint, Unset) else self._data.hint

    @property
    def request_id(self) -> str:
        """Finds the request in the operator's log."""
        return self._data.request_id


def call(client: Client, path: str, body: dict[str, Any], idempotency_key: str | None = None) -> dict[str, Any]:
    """Sends an envelope and returns that of the reply.

    Raises:
        GatewayError: The service refused the call.
        httpx.HTTPError: There was no reply, or none of the service.
    """
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    response = client.get_httpx_client().post(path, json=body, headers=headers)
    if response.is_success:
        reply: dict[str, Any] = response.json()
        return reply
    try:
        refusal = ErrorResponse.from_dict(response.json())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise httpx.HTTPStatusError(
            f"Status {response.status_code} without the error envelope: is {response.url} the gateway?",
            request=response.request,
            response=response,
        ) from None
    raise GatewayError(refusal)
