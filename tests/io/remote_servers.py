"""Servers on this machine that files are read from and written to: one of S3, and one of HTTP that knows ranges."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

BUCKET = "predictions"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that stores what it is given in memory."""
    moto = pytest.importorskip("moto.server", reason="an S3 server on this machine needs moto[s3,server]")
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    import werkzeug.serving

    werkzeug.serving.WSGIRequestHandler.disable_nagle_algorithm = True
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@dataclass
class HttpStore:
    """Files by their path, and the parts that were asked for.

    Below /whole/ the server knows no ranges, below /signed/ it wants a query, and below /denied/ it gives nothing.
    """

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    sent: list[tuple[str, int]] = field(default_factory=list)  # paths, and how many bytes of them
    query: str = ""  # what signs an address

    def put(self, path: str, content: bytes) -> str:
        self.files[path] = content
        return f"{self.address}{path}"


@contextmanager
def http_server() -> Iterator[HttpStore]:
    store = HttpStore()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else the body waits 40 ms until its headers are acknowledged

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            asked = urlsplit(self.path)
            path = unquote(asked.path)
            content = store.files.get(path)
            refused = path.startswith("/denied") or (path.startswith("/signed/") and asked.query != store.query)
            if refused or content is None:
                self._send(403 if refused else 404, b"", {}, body)
                return
            headers = {"ETag": f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'}
            found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if found is None or path.startswith("/whole/"):
                self._send(200, content, headers, body)
                return
            lo, hi = int(found[1]), min(int(found[2] or len(content) - 1), len(content) - 1)
            headers["Content-Range"] = f"bytes {lo}-{hi}/{len(content)}"
            self._send(206, content[lo : hi + 1], headers, body)

        def _send(self, status: int, content: bytes, headers: dict[str, str], body: bool) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                store.sent.append((unquote(urlsplit(self.path).path), len(content)))
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Who has read enough ends the connection."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    store.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
