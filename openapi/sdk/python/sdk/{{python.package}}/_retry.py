"""When an attempt is followed by another one, and after how long: the one policy of both clients."""

from __future__ import annotations

import random
import re
import ssl
from collections.abc import Callable
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TypedDict

import httpx
from tenacity import RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.retry import retry_base
from tenacity.stop import stop_base

from ._errors import ApiConnectionError, ApiError, GatewayError, UnexpectedReplyError

_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_RETRY_AFTER = 60
"""From so many seconds on, whoever called decides: a library that waits a minute surprises."""
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0
_JITTER = 0.25

_SECONDS = re.compile(r"\d+(\.\d+)?", re.ASCII)


def _seconds_since_1970(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        # Without a zone it is asctime's form, which is in UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def retry_after_of(headers: httpx.Headers, now: float) -> float | None:
    """After how many seconds a reply asks to be tried again.

    Args:
        headers: Those of the reply. A date is measured from their own ``Date``.
        now: The seconds since 1970, for replies without a readable ``Date``.

    Returns:
        Seconds from 0 on; ``None`` where ``Retry-After`` is absent or unreadable.
    """
    text = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    until = _seconds_since_1970(text)
    if until is None:
        return None
    sent = _seconds_since_1970(headers.get("Date", ""))
    return max(0, until - (now if sent is None else sent))


def _is_refused_certificate(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _wants_password(error: BaseException | None) -> bool:
    return isinstance(error, httpx.ProxyError) and str(error).startswith("407")


def may_pass(status: int, reason: str | None, headers: httpx.Headers) -> bool:
    """Whether a failure may be none at another attempt: by the service's word, else by what it is."""
    advice = headers.get("X-Should-Retry")
    if advice in ("true", "false"):
        return bool(advice == "true")
    return status in _STATUSES or reason == "IDEMPOTENCY_IN_PROGRESS"


def may_be_retried(error: BaseException) -> bool:
    """Whether another attempt is made after an error."""
    if isinstance(error, ApiConnectionError):
        cause = error.__cause__
        is_passing = isinstance(cause, (httpx.RequestError, TimeoutError))
        return is_passing and not _is_refused_certificate(cause) and not _wants_password(cause)
    if isinstance(error, ApiError):
        return may_pass(error.status, error.reason, error.headers) and (error.retry_after or 0) < _LONGEST_RETRY_AFTER
    return isinstance(error, UnexpectedReplyError) and error.is_cut_off


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ApiError) and error.retry_after is not None:
        return error.retry_after
    return _less_jitter(min(_FIRST_WAIT * 2.0 ** min(state.attempt_number - 1, 10), _LONGEST_WAIT))


def _less_jitter(longest: float) -> float:
    return longest * (1 - random.uniform(0, _JITTER))


def first_wait() -> float:
    """The wait after a first attempt that nothing says more of."""
    return _less_jitter(_FIRST_WAIT)


class Policy(TypedDict):
    """The arguments that both loops of tenacity take."""

    stop: stop_base
    wait: Callable[[RetryCallState], float]
    retry: retry_base
    before_sleep: Callable[[RetryCallState], None]
    reraise: bool


def policy(max_retries: int, before_wait: Callable[[GatewayError, float], None]) -> Policy:
    """What tenacity is told of a call with so many retries.

    ``before_wait`` is called with the error of an attempt that is followed by another, and with the seconds until then.
    """

    def before_sleep(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, GatewayError):
            before_wait(error, state.upcoming_sleep)

    return {
        "stop": stop_after_attempt(1 + max_retries),
        "wait": _wait,
        "retry": retry_if_exception(may_be_retried),
        "before_sleep": before_sleep,
        "reraise": True,
    }
