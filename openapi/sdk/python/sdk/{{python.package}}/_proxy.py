"""Through which proxy a client calls, as the environment says.

httpx reads the same variables, but takes a proxy for loopback addresses too, and its errors don't name the variable.
"""

from __future__ import annotations

import os
import re
from ipaddress import ip_address, ip_network

import httpx

from ._errors import UsageError
from ._settings import LAST_PORT

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[\w.:-]+")
_PORT = re.compile(r":(\d+)$", re.ASCII)


def _variable(name: str) -> tuple[str, str]:
    """The name and the value of a variable; lower case prevails."""
    name = name if name in os.environ else name.upper()
    return name, os.environ.get(name, "").strip()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_named(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of ``NO_PROXY`` names a host: itself, a domain above it, or a network that it is in."""
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        pass  # At least one of them is a name, or has a port.
    wanted_port = _PORT.search(entry)
    if wanted_port and int(wanted_port[1]) != port:
        return False
    domain = _PORT.sub("", entry).strip("[]").removeprefix("*.").removeprefix(".")
    return domain == "*" or host == domain or host.endswith(f".{domain}")


def proxy_for(base_url: httpx.URL) -> httpx.Proxy | None:
    """The proxy that ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY`` name for a base URL, if any.

    Raises:
        UsageError: It is no URL of a proxy. The error names the variable, and doesn't show its value.
    """
    variable, text = _variable(f"{base_url.scheme}_proxy")
    host = base_url.host.lower().rstrip(".")
    port = base_url.port or _DEFAULT_PORTS[base_url.scheme]
    without = [entry for entry in _variable("no_proxy")[1].lower().replace(" ", "").split(",") if entry]
    if not text or _is_loopback(host) or any(_is_named(entry, host, port) for entry in without):
        return None
    try:
        proxy = httpx.URL(text if "://" in text else f"http://{text}")
    except httpx.InvalidURL:
        proxy = httpx.URL("")
    # httpx takes any number for a port.
    has_port = proxy.port is None or 1 <= proxy.port <= LAST_PORT
    if proxy.scheme not in _DEFAULT_PORTS or not _HOST.fullmatch(proxy.host) or not has_port:
        raise UsageError(f"{variable} must be an http or https URL, such as http://proxy.example.com:3128.")
    return httpx.Proxy(proxy)
