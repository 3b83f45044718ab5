"""In place of the generator's clients, which want a key also for what is public."""

from __future__ import annotations

from functools import cached_property

import httpx


class Client:
    """Holds the connections, made at first use. For the functions of ``content_gateway_sdk.api``, also the async ones."""

    raise_on_unexpected_status = True

    def __init__(self, base_url: str, api_key: str | None = None, timeout: float = 30) -> None:
        self._base_url = base_url
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout

    @cached_property
    def _httpx(self) -> httpx.Client:
        return httpx.Client(base_url=self._base_url, headers=self._headers, timeout=self._timeout)

    @cached_property
    def _async_httpx(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self._base_url, headers=self._headers, timeout=self._timeout)

    def get_httpx_client(self) -> httpx.Client:
        return self._httpx

    def get_async_httpx_client(self) -> httpx.AsyncClient:
        return self._async_httpx


AuthenticatedClient = Client
