"""Program of the child process: serves one model with llama.cpp on a free loopback port, until standard input closes.

It is run as a file, not as a module, and imports nothing of this program: it starts fast, and the working directory
cannot change what it imports. The parent writes one line of JSON to standard input. The key and the path therefore
appear neither in the process list nor in the environment. The answer is one line of JSON on standard output: the
address, or why there is none. Afterwards the parent keeps standard input open. When it closes, by `stop` or because the
parent has died, the process ends at once.
"""

import importlib
import json
import os
import sys
import threading
from typing import Any

ALIAS = "local"
"""Name of the model on the server."""


def main() -> None:
    """Serves until standard input is closed. Exit status 1: the model could not be served."""
    settings = json.loads(sys.stdin.readline())
    # Before the model is loaded, so that a parent that dies meanwhile leaves nothing behind.
    threading.Thread(target=_exit_at_end_of_input, name="end of input", daemon=True).start()
    try:
        server = _serve(settings)
    except Exception as error:  # noqa: BLE001 - the library raises RuntimeError, the import anything
        _tell({"error": f"{error}" or type(error).__name__})
        os._exit(1)
    _tell({"url": server.listening_address})
    threading.Event().wait()


def _exit_at_end_of_input() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # at once: a graceful end would wait for the answer under way


def _serve(settings: dict[str, Any]) -> Any:
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {ALIAS}
    params.api_keys = [settings["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = settings["context_tokens"]
    params.n_parallel = 1  # a cancelled answer frees the slot within one token
    # A request is also cancelled between two batches of its prompt.
    params.n_batch = params.n_ubatch = settings["batch_tokens"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["prompt_threads"]
    params.cache_prompt = True
    params.cache_ram_mib = settings["cache_mb"]
    params.swa_full = True  # else a sliding window would lose the cached beginning of the prompt
    params.n_gpu_layers = settings["gpu_layers"]
    params.default_template_kwargs = {"enable_thinking": "false"}
    params.fit_params = False
    params.ui = False
    params.endpoint_slots = True
    params.cors_origins = ""
    params.verbosity = settings["verbosity"]
    return llama.Server(params)


def _tell(what: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
