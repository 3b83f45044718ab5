"""A client of {{title}}: games, image posts and users.

``ContentGateway`` is the client, ``AsyncContentGateway`` its twin for ``async`` programs. What they send and return is in
``{{python.package}}.models``.
"""

from msgspec import UNSET, UnsetType

from ._attempts import AttemptEvent, AttemptHook
from ._client import AsyncContentGateway, ContentGateway
from ._clock import AsyncClock, Clock
from ._errors import (
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    GatewayError,
    NotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    UnexpectedReplyError,
    UnprocessableError,
    UsageError,
)

# {{#events}}
from ._feed import AsyncFeed, Feed

# {{/events}}
from ._pages import AsyncPage, Page
from ._response import RateLimit, Response
from ._version import __version__

# {{#events}}
from ._webhooks import WebhookFault, WebhookHeaders, WebhookMessage, WebhookVerificationError, unwrap_webhook

# {{/events}}

__all__ = (
    "UNSET",
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AsyncClock",
    "AsyncContentGateway",
    # {{#events}}
    "AsyncFeed",
    # {{/events}}
    "AsyncPage",
    "AttemptEvent",
    "AttemptHook",
    "AuthenticationError",
    "BadRequestError",
    "Clock",
    "ConflictError",
    "ContentGateway",
    # {{#events}}
    "Feed",
    # {{/events}}
    "GatewayError",
    "NotFoundError",
    "Page",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "RateLimit",
    "RateLimitError",
    "Response",
    "ServerError",
    "UnexpectedReplyError",
    "UnprocessableError",
    "UnsetType",
    "UsageError",
    # {{#events}}
    "WebhookFault",
    "WebhookHeaders",
    "WebhookMessage",
    "WebhookVerificationError",
    # {{/events}}
    "__version__",
    # {{#events}}
    "unwrap_webhook",
    # {{/events}}
)

# Tracebacks name what programs import, not where it is written.
for _name in __all__:
    _value = globals()[_name]
    if getattr(_value, "__module__", "").startswith(f"{__name__}."):
        _value.__module__ = __name__
