"""Runs an HTTP server in a thread, for tests of what calls services."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Handler = Callable[[Any, Any, ThreadingHTTPServer], BaseHTTPRequestHandler]
"""A class of handlers, or what makes them."""


class Quiet:
    """Part of a handler: it logs nothing."""

    def log_message(self, *_arguments: object) -> None:
        """Logs nothing."""


@contextmanager
def http_server(handler: Handler) -> Generator[int]:
    """Serves on a free port of the loopback, which it yields."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
