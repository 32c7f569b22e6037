"""The client of the WebRTC bench in a network that is too bad for a connection."""

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("aiortc")

from bench.network import webrtc


class Refusing(BaseHTTPRequestHandler):
    """Answers as a server that did not get the whole offer in time."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(408)
        self.end_headers()
        self.wfile.write(b"the body did not arrive in time")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def refusing() -> Generator[str]:
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_refused_call_ends_with_one_line(refusing: str) -> None:
    with pytest.raises(SystemExit) as ended:
        webrtc._run_calls(refusing, "webrtc", 1)
    assert str(ended.value) == (
        "no connection by webrtc: the server answered the offer with HTTP 408: the body did not arrive in time"
    )


def test_unreachable_server_ends_with_one_line() -> None:
    for transport in ("webrtc", "websocket"):
        with pytest.raises(SystemExit, match=f"no connection by {transport}: "):
            webrtc._run_calls("127.0.0.1:9", transport, 1)


def test_network_without_a_connection_is_a_row_of_the_table() -> None:
    assert webrtc.row(10, 60, "webrtc", []) == "| 10 | 60 | webrtc | - | - | 0/0 | 0 |"
