"""Servers on this machine that files are read from and written to: S3, Google's storage, the Hub, plain HTTP."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
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


@contextmanager
def gs_server(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a client of an emulator, which is a process of its own: pyarrow opens files with the GIL held.

    Requests are signed by the key of an account that nobody has; no other server is asked.
    """
    emulator = pytest.importorskip("gcp_storage_emulator", reason="gs:// on this machine needs gcp-storage-emulator")
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {"type": "service_account", "client_email": "nobody@example.org", "private_key": key.decode()}
    credentials = folder / "account.json"
    credentials.write_text(json.dumps({**account, "token_uri": "http://127.0.0.1:9/token"}))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    where = ["--host=127.0.0.1", f"--port={port}", f"--default-bucket={BUCKET}", "--in-memory"]
    command = [sys.executable, "-m", emulator.__name__, "start", *where]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(port)
        endpoint = f"http://127.0.0.1:{port}"
        yield {"CLOUD_STORAGE_EMULATOR_ENDPOINT": endpoint, "GOOGLE_APPLICATION_CREDENTIALS": str(credentials)}
    finally:
        process.kill()
        process.wait()


def _await(port: int) -> None:
    """Wait until something listens."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


DATASET = "someone/predictions"


@contextmanager
def hub_server(files: dict[str, bytes]) -> Iterator[str]:
    """The address of a hub that has one dataset with these files, for clients in other processes."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            about, resolve = f"/api/datasets/{DATASET}", f"/datasets/{DATASET}/resolve/main/"
            content = files.get(path.removeprefix(resolve)) if path.startswith(resolve) else None
            if path == about:
                self._send(200, json.dumps({"id": DATASET, "sha": "0" * 40, "siblings": []}).encode())
            elif path.startswith(f"{about}/tree/main"):
                self._send(200, json.dumps([_described(name, data) for name, data in files.items()]).encode())
            elif content is None:
                self._send(404, b"{}", {"X-Error-Code": "EntryNotFound" if path.startswith(about) else "RepoNotFound"})
            else:
                self._part(content)

        def _part(self, content: bytes) -> None:
            found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if found is None:
                self._send(200, content)
                return
            lo, hi = int(found[1]), min(int(found[2] or len(content) - 1), len(content) - 1)
            self._send(206, content[lo : hi + 1], {"Content-Range": f"bytes {lo}-{hi}/{len(content)}"})

        def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with _serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"


def _described(name: str, content: bytes) -> dict[str, Any]:
    oid = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return {"type": "file", "path": name, "size": len(content), "oid": oid}


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of a server that answers by these means."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Who has read enough ends the connection."""

    server = Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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

    with _serving(Handler) as port:
        store.address = f"http://127.0.0.1:{port}"
        yield store
