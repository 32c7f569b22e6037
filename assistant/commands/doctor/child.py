"""One examination in a process of its own: whatever hangs or crashes there ends there.

    python -m assistant.commands.doctor.child   reads one order from its input, writes one answer to its output

An order is a line of JSON: {"what", "config", "overrides", "limit_s"}. The answer is one, too: {"found": {...}} or
{"error": "..."}. The process ends with its parent, and at the latest after its limit. What an examination needs is
imported for it alone.
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
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from audio.errors import AudioError
from llm.errors import LlmError

if TYPE_CHECKING:
    from assistant.commands.doctor.measures import EngineMeasurement
    from assistant.setup.engine_catalog import Stage

Found = dict[str, object]
T = TypeVar("T")

_RUNNER = asyncio.Runner()

_FOREIGN_CHARS = 300
"""Of somebody else's error: some hold a page."""


def main() -> None:
    """Do what the order says."""
    # Engines and sound systems print as they like: what they print must not get between the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.loads(_line())
    # Also where a library hangs and holds the interpreter lock.
    faulthandler.dump_traceback_later(order["limit_s"], exit=True, file=sys.__stderr__ or sys.stderr)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.setswitchinterval(0.0005)
    try:
        found = examine(order["what"], order["config"], order["overrides"])
        said: Found = {"found": found}
    except (AudioError, LlmError) as error:
        said = {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent shows it
        said = {"error": f"{type(error).__name__}: {error}"[:_FOREIGN_CHARS]}
    answer.write(json.dumps(said))
    answer.close()
    # Not by way of the interpreter's end, which waits for threads: a name look-up may take 20 s to give up.
    os._exit(0)


def examine(what: str, config: str | None, overrides: list[str]) -> Found:
    """`what` is "imports MODULE ...", "devices", "servers", "endpoint INDEX", "tools INDEX", "conversation" or
    "STAGE ENGINE".
    """
    kind, *names = what.split()
    if kind == "servers":
        return _run(_servers())
    if kind == "imports":
        return _run(_imports(names))
    if kind == "devices":
        return _devices()
    settings = load_settings(None if config is None else Path(config), os.environ, overrides).settings
    if kind == "conversation":
        return _run(_conversation(settings))
    if look := {"endpoint": _endpoint, "tools": _tools}.get(kind):
        return _run(look(settings, int(names[0])))
    measured = _run(_measured(settings, cast("Stage", kind), names[0]))
    return {**asdict(measured), "threads": _os_threads()}


async def _measured(settings: Settings, stage: "Stage", name: str) -> "EngineMeasurement":
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
            )  # a conversation has it long before: no cost of the voice
            return await measure.measure_voice(partial(engine_catalog.voice, settings, name))
        case "llm":
            return await measure.measure_model(partial(engine_catalog.skills, settings))


async def _conversation(settings: Settings) -> Found:
    """The engines of one conversation, made as a conversation makes them; also what was chosen before one failed."""
    from assistant.setup.engine_loader import EngineLoader, close_engine

    workshop = EngineLoader(settings)
    error = ""
    left: list[str] = []
    try:
        await close_engine((await workshop.engines()).recognizer, left.append)
    except (AudioError, LlmError) as failure:
        error = str(failure)
    finally:
        await workshop.aclose(left.append)
    return {"chosen": [asdict(chosen) for chosen in workshop.chosen], "error": error, "left": left}


async def _servers() -> Found:
    from llm.discovery import discover

    return {"servers": [asdict(server) for server in await discover()]}


async def _endpoint(settings: Settings, index: int) -> Found:
    from assistant.commands.doctor.endpoints import probe

    return asdict(await probe(settings, settings.llm.endpoints[index], os.environ))


async def _tools(settings: Settings, index: int) -> Found:
    from assistant.commands.doctor.tools import probe

    return asdict(await probe(settings.tools.servers[index], os.environ))


async def _imports(modules: list[str]) -> Found:
    """Milliseconds of importing each, one after the other, or why it cannot be."""
    now_s = asyncio.get_running_loop().time
    found: Found = {}
    for module in modules:
        began_s = now_s()
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - also what a library of the system says
            found[module] = f"{type(error).__name__}: {error}"[:_FOREIGN_CHARS]
        else:
            found[module] = (now_s() - began_s) * 1000
    with contextlib.suppress(Exception):
        found["cuda_devices"] = importlib.import_module("ctranslate2").get_cuda_device_count()
    with contextlib.suppress(Exception):
        found["providers"] = importlib.import_module("onnxruntime").get_available_providers()
    return found


def _devices() -> Found:
    """The sound cards, as sounddevice sees them. Raises OSError where PortAudio is missing."""
    # It looks for PortAudio and opens the sound system when imported.
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
    """As asyncio.run, but without waiting for threads that look up names."""
    return _RUNNER.run(work)


def _os_threads() -> int | None:
    """Of this process, the engine's included; None where the system does not say."""
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return None


def _line() -> bytes:
    """Up to a line break, unbuffered: a buffer's lock would be held by the thread that waits for the parent's end."""
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
