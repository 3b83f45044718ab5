from __future__ import annotations

import copy
from typing import Any, NoReturn, TypeVar

from ._attempts import AttemptHook
from ._errors import UsageError
from ._settings import Connection, Headers, Options

D = TypeVar("D", bound="Derivable")


class Derivable:
    """A client from which others can be made."""

    _connection: Connection
    _owns: bool

    def _bind(self, connection: Connection) -> None:
        """Makes the methods, which call by a connection."""
        raise NotImplementedError

    def with_options(
        self: D,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        headers: Headers | None = None,
        on_attempt: AttemptHook | None = None,
        app_name: str | None = None,
    ) -> D:
        """Makes a client with other options, which shares this one's connections. They are closed with this one alone.

        Args:
            base_url: Where another service is. Default: this client's. The proxy stays that of this client.
            api_key: Another API key; ``""`` is none. Default: this client's.
            timeout: The seconds that an attempt may take. Default: this client's.
            connect_timeout: The seconds that connecting may take. Default: this client's.
            max_retries: How many attempts may follow the first. Default: this client's.
            headers: Sent in addition to this client's; these win.
            on_attempt: Called after each attempt, in place of this client's.
            app_name: Added to the ``User-Agent``, in place of this client's.

        Raises:
            UsageError: One of these can't be used; it says which.
        """
        options = Options(timeout, connect_timeout, max_retries, headers)
        derived = copy.copy(self)
        derived._owns = False
        derived._bind(self._connection.derived(base_url, api_key, options, on_attempt, app_name))
        return derived

    def __copy__(self: D) -> D:
        """The same client."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self: D, memo: dict[int, Any]) -> D:
        """A client with the same options. It shares this one's connections, as those of ``with_options`` do."""
        return self.with_options()

    def __reduce__(self) -> NoReturn:
        """A client has a key and connections, which are not for other processes."""
        raise UsageError("A client can't be pickled: make one in each process.")

    def __repr__(self) -> str:
        """Where it calls. The key doesn't show."""
        return f"<{type(self).__name__} {self._connection.origin}>"
