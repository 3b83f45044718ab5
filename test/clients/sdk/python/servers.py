"""Gateways on this machine that answer all calls alike, and note them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any

seen: list[tuple[str, str, dict[str, str], Any]] = []
"""By whom requests were answered, what they asked for, their headers and bodies."""
connections: list[str] = []
"""Who was connected to, in turn."""


class Gateway(BaseHTTPRequestHandler):
    """Answers all calls alike."""

    protocol_version = "HTTP/1.1"
    name = "gateway"

    def setup(self) -> None:
        connections.append(self.name)
        super().setup()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen.append((self.name, self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.answer(200, b'{"result":{"data":{"json":{"id":"g1"}}}}')

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def serve(handler: type[BaseHTTPRequestHandler], context: SSLContext | None = None) -> int:
    """Serves on a free port, which is returned, until the program ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
