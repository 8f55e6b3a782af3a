"""A small client for a service, over TCP or a Unix socket; it needs the standard library only."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any
from urllib.parse import urlsplit

from slidefold.errors import DataError


class RefusedError(DataError):
    """A service refused a request; after status 429 or 503, send the same again later."""

    def __init__(self, status: int, answer: bytes) -> None:
        """Take the reason from an answer."""
        try:
            found = json.loads(answer)
            reason, row = found["error"], found.get("row")
        except (ValueError, KeyError, TypeError):
            reason, row = answer[:200].decode("utf-8", "replace"), None
        reason = reason.removesuffix(f" at row {row}")
        super().__init__(f"the service refused with {status}: {reason}")
        self.status, self.row = status, row


class Client:
    """Send events to a service and ask it questions.

    `place` is an address such as "http://localhost:8000", or the path of a Unix socket. One client
    is for one thread.
    """

    def __init__(self, place: str, *, token: str | None = None, timeout: float = 30.0) -> None:
        """Connect when the first request is made."""
        self.place, self.token, self.timeout = place, token, timeout
        self.position: int | None = None  # of the log, as the last answer knew it
        self._connection: http.client.HTTPConnection | None = None

    def send(self, events: dict[str, Any] | list[dict[str, Any]]) -> dict[str, Any]:
        """Send one event or a list; return how many were accepted, once they are safe."""
        return self._call("POST", "/events", events)  # type: ignore[no-any-return]

    def ask(self, questions: Any, *, include: bool = False) -> Any:
        """Ask one question, a dict, or several, a list; the answer is of the same kind."""
        return self._call("POST", f"/ask?include={str(include).lower()}", questions)

    def features(self) -> dict[str, Any]:
        """Return the definition that the service runs."""
        return self._call("GET", "/features", None)  # type: ignore[no-any-return]

    def health(self) -> dict[str, Any]:
        """Return what the service holds and has done."""
        return self._call("GET", "/health", None)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _call(self, method: str, path: str, content: Any) -> Any:
        body = None if content is None else json.dumps(content).encode()
        headers = {"content-type": "application/json"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        for attempt in (1, 2):
            connection = self._connected()
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                answer = response.read()
                break
            except (http.client.HTTPException, ConnectionError, BrokenPipeError):
                self.close()  # the server may have closed an idle connection
                if attempt == 2 or (method == "POST" and path == "/events"):
                    raise
        position = response.headers.get("slidefold-position")
        self.position = None if position is None else int(position)
        if response.status >= 400:
            raise RefusedError(response.status, answer)
        return json.loads(answer)

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            if self.place.startswith("http://"):
                at = urlsplit(self.place)
                self._connection = http.client.HTTPConnection(
                    at.hostname or "localhost", at.port or 80, timeout=self.timeout
                )
            else:
                self._connection = _UnixConnection(self.place, self.timeout)
        return self._connection


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
