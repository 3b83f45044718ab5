from __future__ import annotations

from types import TracebackType
from typing import Self

from .api.game import GameProcedures
from .api.image import ImageProcedures
from .api.user import UserProcedures
from .client import Client


class ContentGateway:
    """The content gateway. Each method takes the parameters of a procedure and returns its output."""

    def __init__(self, base_url: str, api_key: str | None = None, timeout: float = 30) -> None:
        """
        Args:
            base_url: Where the service is, such as ``https://content.example.com``.
            api_key: An API key; without one only public procedures can be called.
            timeout: After how many seconds without a reply to give up.
        """
        self._client = Client(base_url, api_key, timeout)
        self.game = GameProcedures(self._client)
        self.image = ImageProcedures(self._client)
        self.user = UserProcedures(self._client)

    def close(self) -> None:
        """Closes the connections."""
        self._client.get_httpx_client().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
