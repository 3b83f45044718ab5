"""What of the network no scripted exchange shows, with threads and with tasks: proxies, hooks and the log.

Needs CERTIFICATE and KEY, files of a certificate for gateway.invalid that SSL_CERT_FILE names, too.
"""

import asyncio
import contextlib
import io
import os
import re
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

from content_gateway import (
    ApiConnectionError,
    AsyncClock,
    AsyncContentGateway,
    AttemptEvent,
    Clock,
    ContentGateway,
)
from servers import Gateway, seen, serve

API_KEY = "cgk_network"
VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "content_gateway_log")


class SecureGateway(Gateway):
    name = "secure gateway"


class Proxy(Gateway):
    """Answers what it should pass on, and leads all tunnels to the secure gateway."""

    name = "proxy"

    def do_CONNECT(self) -> None:
        seen.append(("tunnel", self.path, {name.lower(): value for name, value in self.headers.items()}, None))
        self.send_response(200)
        self.end_headers()
        with socket.create_connection(("127.0.0.1", secure_port)) as inner:
            back = threading.Thread(target=pump, args=(inner, self.connection))
            back.start()
            pump(self.connection, inner)
            back.join()
        self.close_connection = True


class StrictProxy(Gateway):
    """Wants a password."""

    def do_CONNECT(self) -> None:
        seen.append(("strict proxy", self.path, {}, None))
        self.answer(407, b"")


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(os.environ["CERTIFICATE"], os.environ["KEY"])
secure_port = serve(SecureGateway, tls)
here = f"http://127.0.0.1:{serve(Gateway)}"
proxy_host = f"127.0.0.1:{serve(Proxy)}"
strict_host = f"127.0.0.1:{serve(StrictProxy)}"


def call(base_url: str, **options: Any) -> object:
    clock = Clock(sleep=lambda _: None)
    with ContentGateway(
        base_url, API_KEY, connect_timeout=0.3, clock=clock, **{"max_retries": 0, **options}
    ) as gateway:
        return gateway.call("game.getNewest", {"limit": 3})


async def call_in_task(base_url: str, **options: Any) -> object:
    clock = AsyncClock(sleep=lambda _: asyncio.sleep(0))
    async with AsyncContentGateway(
        base_url, API_KEY, connect_timeout=0.3, clock=clock, **{"max_retries": 0, **options}
    ) as gateway:
        return await gateway.call("game.getNewest", {"limit": 3})


WAYS: tuple[Callable[..., object], ...] = (
    call,
    lambda base_url, **options: asyncio.run(call_in_task(base_url, **options)),
)


def outcomes(environment: dict[str, str], base_url: str, **options: Any) -> Iterator[str | Exception]:
    """By whom a call was answered with these variables alone, or the error, in each of the ways."""
    for name in VARIABLES:
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    os.environ |= environment
    for way in WAYS:
        seen.clear()
        try:
            assert way(base_url, **options) == {"id": "g1"}
        except (ApiConnectionError, ValueError) as error:
            yield error
        else:
            yield ", ".join(by for by, *_ in seen)


def basic(user: str) -> str:
    return f"Basic {b64encode(user.encode()).decode()}"


def is_direct(outcome: str | Exception) -> bool:
    return isinstance(outcome, ApiConnectionError) and not seen


# By http, the proxy gets the request itself; the user of its URL is decoded.
for outcome in outcomes({"HTTP_PROXY": f"http://me:p%40ss@{proxy_host}"}, "http://gateway.invalid/base"):
    assert outcome == "proxy", outcome
    _, target, headers, _ = seen[0]
    assert target == "http://gateway.invalid/base/api/trpc/game.getNewest"
    assert headers["host"] == "gateway.invalid"
    assert headers["proxy-authorization"] == basic("me:p@ss")
    assert headers["authorization"] == f"Bearer {API_KEY}"

# By https, it opens a tunnel, and sees nothing of the request.
for outcome in outcomes({"HTTPS_PROXY": f"http://me:p%40ss@{proxy_host}"}, "https://gateway.invalid"):
    assert outcome == "tunnel, secure gateway", outcome
    (_, target, headers, _), (_, _, inner_headers, _) = seen
    assert target == "gateway.invalid:443"
    assert headers["proxy-authorization"] == basic("me:p@ss")
    assert "authorization" not in headers
    assert "proxy-authorization" not in inner_headers

# Each scheme has its own proxy; names in lower case prevail, also when they are empty; a scheme may be left out.
for environment, base_url, expected in (
    ({"HTTP_PROXY": proxy_host}, "https://gateway.invalid", None),
    ({"HTTPS_PROXY": proxy_host}, "http://gateway.invalid", None),
    ({"HTTP_PROXY": proxy_host, "http_proxy": ""}, "http://gateway.invalid", None),
    ({"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": proxy_host}, "http://gateway.invalid", "proxy"),
    ({"HTTP_PROXY": proxy_host}, here, "gateway"),
    ({"HTTP_PROXY": proxy_host}, here.replace("127.0.0.1", "localhost"), "gateway"),
    ({"ALL_PROXY": "socks5://127.0.0.1:1"}, here, "gateway"),
):
    for outcome in outcomes(environment, base_url):
        assert outcome == expected if expected else is_direct(outcome), (environment, base_url, outcome)

for base_url in ("http://127.0.0.2:1", "http://[::1]:1", "http://LOCALHOST:1"):
    for outcome in outcomes({"HTTP_PROXY": proxy_host}, base_url):
        assert is_direct(outcome), (base_url, outcome)

for no_proxy, host, direct in (
    ("*", "gateway.invalid", True),
    ("gateway.invalid", "gateway.invalid", True),
    ("other.invalid, GATEWAY.invalid", "gateway.invalid", True),
    (".invalid", "gateway.invalid", True),
    ("invalid", "gateway.invalid", True),
    (".gateway.invalid", "gateway.invalid", True),
    ("*.invalid", "a.gateway.invalid", True),
    ("way.invalid", "gateway.invalid", False),
    ("a.gateway.invalid", "gateway.invalid", False),
    ("gateway.invalid:80", "gateway.invalid", True),
    ("gateway.invalid:81", "gateway.invalid", False),
    ("gateway.invalid:81", "gateway.invalid:81", True),
    ("192.0.2.1", "192.0.2.1", True),
    ("192.0.2.1", "192.0.2.11", False),
    ("192.0.2.1:81", "192.0.2.1:81", True),
    ("192.0.2.0/24", "192.0.2.11", True),
    ("2001:db8::1", "[2001:db8::1]", True),
    ("2001:db8::1", "gateway.invalid", False),
    ("[2001:db8::1]:81", "[2001:db8::1]:81", True),
    ("[2001:db8::1]:81", "[2001:db8::1]", False),
    (".", "gateway.invalid", False),
    ("", "gateway.invalid", False),
):
    for outcome in outcomes({"HTTP_PROXY": proxy_host, "NO_PROXY": no_proxy}, f"http://{host}"):
        assert is_direct(outcome) if direct else outcome == "proxy", (no_proxy, host, outcome)

for address in (
    "http://me:secret@proxy:port",
    "http://me:secret@proxy:65536",
    "http://me:secret@proxy:-1",
    "socks5://me:secret@proxy",
    "http://me:secret@",
    "a b",
):
    for outcome in outcomes({"HTTPS_PROXY": address}, "https://gateway.invalid"):
        assert isinstance(outcome, ValueError), outcome
        assert str(outcome).startswith("HTTPS_PROXY must be ")
        assert "secret" not in f"{outcome!r} {outcome.__context__!r}"

# A proxy that wants a password is not asked again.
for outcome in outcomes({"HTTPS_PROXY": strict_host}, "https://gateway.invalid", max_retries=2):
    assert isinstance(outcome, ApiConnectionError) and "after 1 attempt: 407" in str(outcome), outcome
    assert len(seen) == 1


# The log is a line for each attempt, where the environment asks for it. What a hook raises breaks nothing.
def faulty(_: AttemptEvent) -> None:
    raise RuntimeError("a hook")


class Writes(io.StringIO):
    """Keeps what is written at once apart: of threads that write in parts, lines would mix."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def write(self, text: str) -> int:
        self.texts.append(text)
        return len(text)


def logged(level: str, base_url: str, **options: Any) -> list[str]:
    with contextlib.redirect_stderr(Writes()) as stream:
        list(outcomes({"CONTENT_GATEWAY_LOG": level}, base_url, on_attempt=faulty, **options))
    return [re.sub(r"0\.\d\d? s", "0.n s", re.sub(r"\d+ ms", "n ms", text)) for text in stream.texts]


FAILED = "content-gateway: game.getNewest attempt {} in n ms{}\n"
assert logged("debug", "http://127.0.0.1:1", max_retries=1) == 2 * [
    FAILED.format("1: ApiConnectionError", ", again in 0.n s"),
    FAILED.format("2: ApiConnectionError", ""),
]
assert logged("debug", here) == 2 * [FAILED.format("1: 200", "")]
assert logged("info", here) == []
