"""Runs one check in a separate process, so that a hang or crash does not affect the report.

    python -m assistant.commands.doctor.child   reads one order from its input, writes one answer to its output

An order is a line of JSON: {"what", "config", "overrides", "limit_s"}. The answer is one, too: {"facts": {...}} or
{"error": "..."}. The process ends with its parent, or after its time limit. Each check imports only what it needs.
"""

import asyncio
import contextlib
import faulthandler
import importlib
import json
import os
import sys
import threading
from collections.abc import Coroutine
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, TypeVar, cast

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from audio.errors import AudioError
from llm.errors import LlmError

if TYPE_CHECKING:
    from assistant.commands.doctor.measures import EngineMeasurement
    from assistant.setup.engine_catalog import Stage

Facts = dict[str, object]
T = TypeVar("T")

_RUNNER = asyncio.Runner()

_FOREIGN_CHARS = 300
"""Longest text of a foreign error, in characters; some contain a page."""


def main() -> None:
    """Runs the check that the order names."""
    # Engines and sound systems print to standard output, which must not mix with the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.loads(_line())
    # Works even if a library hangs and holds the interpreter lock.
    faulthandler.dump_traceback_later(order["limit_s"], exit=True, file=sys.__stderr__ or sys.stderr)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.setswitchinterval(0.0005)
    try:
        facts = examine(order["what"], order["config"], order["overrides"])
        reply: Facts = {"facts": facts}
    except (AudioError, LlmError) as error:
        reply = {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - the parent shows any error
        reply = {"error": f"{type(error).__name__}: {error}"[:_FOREIGN_CHARS]}
    answer.write(json.dumps(reply))
    answer.close()
    # A normal exit waits for threads, and a name lookup may take 20 s.
    os._exit(0)


def examine(what: str, config: str | None, overrides: list[str]) -> Facts:
    """Runs a check.

    `what` is "imports MODULE ...", "devices", "servers", "endpoint INDEX", "tools INDEX", "service NAME", "times",
    "cluster", "conversation" or "STAGE ENGINE".
    """
    kind, *names = what.split()
    if kind == "servers":
        return _run(_servers())
    if kind == "imports":
        return _run(_imports(names))
    if kind == "devices":
        return _devices()
    settings = load_settings(None if config is None else Path(config), os.environ, overrides).settings
    if whole := {"conversation": _conversation, "times": _times, "cluster": _cluster}.get(kind):
        return _run(whole(settings))
    if look := {"endpoint": _endpoint, "tools": _tools, "service": _service}.get(kind):
        return _run(look(settings, names[0]))
    measured = _run(_measure(settings, cast("Stage", kind), names[0]))
    return {**asdict(measured), "threads": _os_threads()}


async def _measure(settings: Settings, stage: "Stage", name: str) -> "EngineMeasurement":
    from assistant.commands.doctor import measures as measure
    from assistant.setup import build, engine_catalog

    match stage:
        case "vad":
            return measure.measure_vad(partial(build.vad, name))
        case "stt":
            return await measure.measure_transcriber(partial(engine_catalog.transcriber, settings, name))
        case "tts":
            importlib.import_module(
                "assistant.setup.engine_loader"
            )  # a conversation has imported it long before, so it is not counted for the voice
            return await measure.measure_voice(partial(engine_catalog.voice, settings, name))
        case "llm":
            return await measure.measure_model(partial(engine_catalog.skills, settings))


async def _conversation(settings: Settings) -> Facts:
    """Loads the engines of one conversation as the program does. Reports those chosen before an error, too."""
    from assistant.setup.engine_loader import EngineLoader
    from assistant.setup.loading import close_engine

    loader = EngineLoader(settings, measures=False)
    error = ""
    left: list[str] = []
    try:
        await close_engine((await loader.engines()).recognizer, left.append)
    except (AudioError, LlmError) as failure:
        error = str(failure)
    finally:
        await loader.aclose(left.append)
    return {
        # not asdict, which copies: a text with a code for other languages cannot be copied
        "chosen": [{field.name: getattr(chosen, field.name) for field in fields(chosen)} for chosen in loader.chosen],
        "error": error,
        "left": left,
        "providers": loader.providers,
        "available_providers": _onnx_providers(),
    }


def _onnx_providers() -> list[str]:
    """Returns onnxruntime's own names of its providers; an empty list if it cannot be imported."""
    with contextlib.suppress(Exception):
        return list(importlib.import_module("onnxruntime").get_available_providers())
    return []


async def _times(settings: Settings) -> Facts:
    from assistant.setup.listening.model_timing import measure_unmeasured

    measure_unmeasured(settings, asyncio.get_running_loop().time, process_time)
    return {}


async def _servers() -> Facts:
    from llm.discovery import discover

    return {"servers": [asdict(server) for server in await discover()]}


async def _endpoint(settings: Settings, index: str) -> Facts:
    from assistant.commands.doctor.endpoints import probe
    from assistant.setup import build

    settings, _ = build.with_local_model(settings)
    return asdict(await probe(settings, settings.llm.endpoints[int(index)], os.environ))


async def _tools(settings: Settings, index: str) -> Facts:
    from assistant.commands.doctor.tools import probe

    return asdict(await probe(settings.tools.servers[int(index)], os.environ))


async def _service(settings: Settings, name: str) -> Facts:
    from assistant.commands.doctor.services import probe

    return asdict(await probe(settings, os.environ, name))


async def _cluster(settings: Settings) -> Facts:
    from assistant.commands.doctor.cluster import probe

    return {"services": [asdict(service) for service in await probe(settings)]}


async def _imports(modules: list[str]) -> Facts:
    """Returns the import time of each module in ms, or the error."""
    now_s = asyncio.get_running_loop().time
    facts: Facts = {}
    for module in modules:
        began_s = now_s()
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - includes errors of system libraries
            facts[module] = f"{type(error).__name__}: {error}"[:_FOREIGN_CHARS]
        else:
            facts[module] = (now_s() - began_s) * 1000
    with contextlib.suppress(Exception):
        facts["cuda_devices"] = importlib.import_module("ctranslate2").get_cuda_device_count()
    if "onnxruntime" in modules:
        facts["providers"] = _onnx_providers()
    return facts


def _devices() -> Facts:
    """Returns the sound cards that sounddevice reports. Raises OSError if PortAudio is missing."""
    # The import loads PortAudio and opens the sound system.
    sounddevice = importlib.import_module("sounddevice")
    devices = [dict(device) for device in sounddevice.query_devices()]
    default = [int(index) for index in sounddevice.default.device]
    return {
        "portaudio": sounddevice.get_portaudio_version()[1],
        "inputs": sum(device["max_input_channels"] > 0 for device in devices),
        "outputs": sum(device["max_output_channels"] > 0 for device in devices),
        "input": _name_of(devices, default[0]),
        "output": _name_of(devices, default[1]),
    }


def _name_of(devices: list[dict[str, object]], index: int) -> str:
    return str(devices[index]["name"]) if 0 <= index < len(devices) else ""


def _run(work: Coroutine[object, object, T]) -> T:
    """Runs a coroutine like asyncio.run, but does not wait for threads in name lookups."""
    return _RUNNER.run(work)


def _os_threads() -> int | None:
    """Returns the number of threads of this process, including the engine's; None if unknown."""
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return None


def _line() -> bytes:
    """Reads up to a line break, unbuffered: a buffer's lock would be held by the thread that watches the parent."""
    line = bytearray()
    while (sign := os.read(0, 1)) not in {b"", b"\n"}:
        line += sign
    return bytes(line)


def _end_with_parent() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)


if __name__ == "__main__":
    main()
