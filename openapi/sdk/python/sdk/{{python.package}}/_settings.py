"""What a client and a call are told, checked once."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import httpx

from ._attempts import AttemptHook, write_to_log
from ._errors import UsageError
from ._version import CONTRACT, ENVIRONMENT, PRODUCT, __version__

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_APP_NAME = re.compile(rf"{_NAME.pattern}(/{_NAME.pattern})?")
_VALUE = re.compile(r"([\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?)?")
_KEY = re.compile(r"[\x21-\x7e]+")

LAST_PORT = 65_535
_LONGEST_TIMEOUT = 86_400
"""Not infinite: the operating system takes no such timeout."""
_LONGEST_OPENING = 10.0
"""The first message of a stream comes at once, unless something on the way holds it back."""
_USER_AGENT = f"{PRODUCT}-python/{__version__} (contract {CONTRACT}; python {platform.python_version()})"

Headers = Mapping[str, "str | None"]


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


@dataclass(frozen=True)
class Options:
    """What a call is told beside its input; ``None`` means as the client says."""

    timeout: float | None = None
    connect_timeout: float | None = None
    max_retries: int | None = None
    headers: Headers | None = None
    idempotency_key: str | None = None

    def opening(self, defaults: Complete) -> Options:
        """These options for a stream without which one can do: it is tried once, and not for long."""
        timeout = defaults.timeout if self.timeout is None else self.timeout
        return replace(self, max_retries=0, timeout=min(timeout, _LONGEST_OPENING))

    def over(self, defaults: Complete) -> Complete:
        """These options, and the client's where these say nothing. Of both headers, these win.

        Raises:
            UsageError: No call can use them. It names the option, and never a value that may be secret.
        """
        return Complete(
            timeout=defaults.timeout if self.timeout is None else self.timeout,
            connect_timeout=defaults.connect_timeout if self.connect_timeout is None else self.connect_timeout,
            max_retries=defaults.max_retries if self.max_retries is None else self.max_retries,
            headers={**defaults.headers, **_lower(self.headers)},
            idempotency_key=self.idempotency_key,
        )


@dataclass(frozen=True)
class Complete:
    """The options of a call, or of a client, with nothing left open. The names of headers are in lower case."""

    timeout: float
    connect_timeout: float
    max_retries: int
    headers: Mapping[str, str]
    idempotency_key: str | None = None

    def __post_init__(self) -> None:
        """Refuses what no call can use.

        Raises:
            UsageError: It names the option, and never a value that may be secret.
        """
        for name in ("timeout", "connect_timeout"):
            seconds = getattr(self, name)
            if not isinstance(seconds, (int, float)) or not 0 < seconds <= _LONGEST_TIMEOUT:
                raise UsageError(f"{name} must be more than 0 seconds and at most a day, and is {seconds}.")
        if not isinstance(self.max_retries, int) or self.max_retries < 0:
            raise UsageError(f"max_retries must be at least 0, and is {self.max_retries}.")
        for name, value in self.headers.items():
            if not _is(_NAME, name) or not _is(_VALUE, value):
                raise UsageError(f"headers: {name!r} or its value has characters that a header cannot hold.")
        if self.idempotency_key is not None and not _is(_VALUE, self.idempotency_key):
            raise UsageError("idempotency_key is no text, or has characters that a header cannot hold.")


@dataclass(frozen=True)
class Connection:
    """Where a client calls, as whom, and with what options."""

    base_url: httpx.URL
    api_key: str | None = field(repr=False)
    defaults: Complete = field(repr=False)
    app_name: str | None = None
    on_attempt: AttemptHook | None = None
    is_logged: bool = False
    contract: str | None = None
    """The file of the consumer contract that is recorded, if one is."""

    def __post_init__(self) -> None:
        """Refuses what no client can use.

        Raises:
            UsageError: It names the option, and never a value that may be secret.
        """
        if self.api_key is not None and not _is(_KEY, self.api_key):
            raise UsageError("api_key is no text, or has characters that a header cannot hold, such as a line break at its end.")
        if self.app_name is not None and not _is(_APP_NAME, self.app_name):
            raise UsageError("app_name must be a name, such as my-app, or with its version, such as my-app/1.2.")

    @property
    def origin(self) -> str:
        """``https://gateway.example.com`` of any URL there."""
        return f"{self.base_url.scheme}://{self.base_url.netloc.decode('ascii')}"

    @property
    def user_agent(self) -> str:
        """The names and versions of this package and its surroundings, and the app's."""
        return f"{_USER_AGENT} {self.app_name}" if self.app_name else _USER_AGENT

    @property
    def hooks(self) -> tuple[AttemptHook, ...]:
        """What is told of each attempt."""
        return tuple(hook for hook in (self.is_logged and write_to_log, self.on_attempt) if hook)

    def derived(
        self, base_url: str | None, api_key: str | None, options: Options, on_attempt: AttemptHook | None, app_name: str | None
    ) -> Connection:
        """The same with other options; ``None`` means as it is.

        Raises:
            UsageError: It says which of them no client can use.
        """
        return replace(
            self,
            base_url=self.base_url if base_url is None else _base_url_from(base_url),
            api_key=self.api_key if api_key is None else api_key or None,
            defaults=options.over(self.defaults),
            on_attempt=on_attempt or self.on_attempt,
            app_name=self.app_name if app_name is None else app_name,
        )


def _lower(headers: Headers | None) -> dict[str, str]:
    if headers is not None and not isinstance(headers, Mapping):
        raise UsageError("headers must be a mapping of names to values.")
    return {str(name).lower(): value for name, value in (headers or {}).items() if value is not None}


def _base_url_from(given: str | None) -> httpx.URL:
    """The base URL, without slashes at its end: the one given, or that of the environment.

    Raises:
        UsageError: There is none, or it is no http or https URL.
    """
    variable = f"{ENVIRONMENT}_URL"
    text = os.environ.get(variable, "") if given is None else given
    if not text:
        raise UsageError(f"No base URL: give base_url, such as {{homepage}}, or set {variable}.")
    try:
        url = httpx.URL(str(text).rstrip("/"))
        url.raw_host.decode("ascii").encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL("")
    has_more = url.userinfo or set("?#") & set(str(text))
    if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > LAST_PORT or has_more:
        given_as = variable if given is None else "base_url"
        rule = "must be an http or https URL without user, password, query and fragment"
        raise UsageError(f"{given_as} {rule}, such as {{homepage}}.")
    return url


def connection_from(
    base_url: str | None,
    api_key: str | None,
    defaults: Complete,
    on_attempt: AttemptHook | None,
    app_name: str | None,
) -> Connection:
    """What a client is told, or else the environment. An API key that is empty text is none.

    Raises:
        UsageError: It says which of it no client can use.
    """
    key = os.environ.get(f"{ENVIRONMENT}_API_KEY", "") if api_key is None else api_key
    is_logged = os.environ.get(f"{ENVIRONMENT}_LOG") == "debug"
    contract = os.environ.get(f"{ENVIRONMENT}_CONTRACT") or None
    return Connection(_base_url_from(base_url), key or None, defaults, app_name, on_attempt, is_logged, contract)


def complete(timeout: float, connect_timeout: float, max_retries: int, headers: Headers | None) -> Complete:
    """The options of a client.

    Raises:
        UsageError: It says which of them no call can use.
    """
    return Complete(timeout, connect_timeout, max_retries, _lower(headers))
