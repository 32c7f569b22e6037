"""Runs llama.cpp's own server in a separate process, with a model made by synthetic_gguf."""

import importlib
import select
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.models.synthetic_gguf import CHAT_TEMPLATE, CONTEXT_TOKENS, write_gguf

MODEL = "tiny-chat"
START_TIMEOUT_S = 15.0
"""Start timeout in seconds. Loading its library takes a second from a cold disk; the model takes 50 ms."""


@dataclass(frozen=True, slots=True)
class LlamaServer:
    """A running server.

    Attributes:
        root: Its address; the API is below /v1.
        port: Port on 127.0.0.1.
    """

    root: str
    port: int

    @property
    def url(self) -> str:
        """Returns the base URL of the API."""
        return f"{self.root}/v1"


@contextmanager
def llama_server(folder: Path, *, api_key: str = "", template: str = CHAT_TEMPLATE) -> Generator[LlamaServer]:
    """Serves a model written into `folder`. The process has ended when the block ends."""
    model = folder / "tiny.gguf"
    write_gguf(model, template)
    with subprocess.Popen(
        [sys.executable, "-m", "support.services.llama_server", model, api_key],
        stdin=subprocess.PIPE,  # closing it, also by our end, ends the server
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
            root = process.stdout.readline().strip() if ready else ""
            assert root.startswith("http://127.0.0.1:"), f"llama.cpp's server did not start: {root!r}"
            yield LlamaServer(root, int(root.rpartition(":")[2]))
        finally:
            process.kill()


def main(model: str, api_key: str) -> None:
    """Serves until standard input is closed."""
    llama = importlib.import_module("xllamacpp")  # it ships without types
    settings = llama.CommonParams()
    settings.model.path = model
    settings.model_alias = {MODEL}
    settings.port = 0
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.cpuparams.n_threads = 1
    settings.warmup = False
    settings.fit_params = False
    settings.api_keys = [api_key] if api_key else []
    server = llama.Server(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
