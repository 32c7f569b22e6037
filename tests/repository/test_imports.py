"""Imports have one direction: repartee -> web -> assistant -> audio, llm -> declarations, and down assistant's layers.

Only a few modules name engines.
"""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    "declarations": frozenset(),
    "audio": frozenset({"declarations"}),
    "llm": frozenset({"declarations"}),
    "assistant": frozenset({"audio", "llm", "declarations"}),
    "web": frozenset({"assistant", "audio", "llm", "declarations"}),
    "repartee": frozenset({"web", "assistant", "audio", "llm", "declarations"}),
}
OURS = frozenset(MAY_IMPORT) | {"tests", "bench"}

NAME_ENGINES = frozenset(
    {
        "assistant.setup.answering.answer_cache",
        "assistant.setup.build",
        "assistant.setup.engine_catalog",
        "assistant.setup.answering.services",
        "assistant.setup.answering.user_files",
        "assistant.setup.answering.user_memory",
        "audio.cluster.turn_end",
        "llm.aws.payload",
        "llm.aws.sagemaker",
        "llm.local.protocol",
    }
)
"""Modules that may name engines: those of a conversation; the catalogue for diagnosis; timers; home
and weather; engines on a cluster; services and a server that speak OpenAI's protocol."""

LAYERS = (
    "support", "registry", "config", "tls", "home", "weather", "end_of_turn", "text", "models", "speakers", "turns",
    "memory", "skills", "trace",
    "history", "events", "tools", "documents", "storage", "enrolment", "pipeline", "setup", "cluster", "checks",
    "endpoint_probe", "first_run", "trace_report", "replay",
    "commands",
)  # fmt: skip
"""Packages and modules of `assistant`. Each imports only from itself and those before it (docs/architecture.md)."""

PROTOCOL_PACKAGES = ("llm.openai", "llm.tgi", "llm.triton", "llm.aws", "llm.local")
ENGINE_PACKAGES = (
    *("audio.vad", "audio.stt", "audio.tts", "audio.end_of_turn.smart_turn", "audio.wake.micro"),
    *(*PROTOCOL_PACKAGES, "llm", "assistant.skills"),
)
ENGINE_FOLDERS = (
    *("audio.tts.", "audio.stt.whisper", "audio.vad.", "audio.end_of_turn.smart_turn", "audio.wake.micro."),
    *(f"{package}." for package in PROTOCOL_PACKAGES),
)
"""Packages of engines and protocols, each of which has its own name in its declaration."""

PORTS = frozenset(
    {
        "assistant.skills.answers",
        "assistant.skills.effects",
        "assistant.skills.lists.items",
        "assistant.skills.home.pending_action",
        "assistant.skills.kinds",
        "assistant.skills.ringing.requested_changes",
        "assistant.skills.ringing.shown_timers",
        "assistant.skills.ringing.timer_buttons",
        "assistant.skills.timers.stored_timers",
        "assistant.skills.timers.timers",
        "assistant.skills.timers.user_timers",
        "audio.tts.relief_voice",
        "audio.tts.speakable",
        "audio.tts.word_bounds",
        "llm.answer_text.call_arguments",
        "llm.cache",
        "llm.chat",
        "llm.discovery",
        "llm.environment",
        "llm.errors",
        "llm.listing",
        "llm.protocols.protocol",
        "llm.protocols.request",
        "llm.routing.router",
        "llm.text_pieces",
    }
) | {"llm.http.encoding", "llm.name_lookup"}
"""Modules that others may import, besides the engine packages themselves."""

HOUSES = ("assistant.setup", "assistant.turns", "bench", "web", "web.remote", "web.wire")
"""Packages of rooms. The `__init__` of a room says in a sentence "May import ..." which others it may import.

Modules that stand in the house itself, beside its rooms, may import each of them.
"""

MAX_FILES_BESIDE_ROOMS = 8
MAX_FILES_OF_ROOM = 12
"""Modules that a reader takes in at a glance, without the `__init__`."""

LARGE_ROOMS: Mapping[str, int] = {
    "assistant/commands": 14,
    "assistant/commands/doctor": 14,
    "assistant/commands/talk": 18,
    "assistant/config": 21,
    "assistant/documents": 14,
    "assistant/pipeline": 31,
    "assistant/replay": 15,
    "assistant/support": 14,
    "assistant/text": 10,
    "assistant/text/normalization": 30,
    "assistant/tools": 15,
    "assistant/trace_report": 17,
    "audio": 36,
    "audio/stt/whisper": 16,
    "llm": 22,
    "llm/aws": 15,
}
"""Rooms with more modules, and how many they may have. A number may only fall."""

CLOCKS = frozenset({"time", "time_ns"})


@dataclass(frozen=True, slots=True)
class Module:
    """A module's dotted name, its syntax tree, and whether it is a package's `__init__`."""

    name: str
    tree: ast.Module
    is_package: bool = False


def modules_of(*packages: str) -> list[Module]:
    found = []
    for package in packages:
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            found.append(Module(name, ast.parse(file.read_text(encoding="utf-8"), str(file)), is_package))
    return found


def module(name: str, source: str, *, is_package: bool = False) -> Module:
    return Module(name, ast.parse(source), is_package)


def imports_of(module: Module, names: frozenset[str]) -> Iterator[str]:
    """Yields the modules that a module imports anywhere, also inside functions, resolved to `names` if possible.

    `from audio import vad` is audio.vad if that is a module, else audio.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.name.split(".")
            kept = len(parts) - node.level + module.is_package
            base = ".".join([*parts[: kept if node.level else 0], *(node.module.split(".") if node.module else ())])
            yield from (f"{base}.{a.name}" if f"{base}.{a.name}" in names else base for a in node.names)


def graph_of(modules: list[Module]) -> dict[str, set[str]]:
    """Maps each module to the modules it imports."""
    names = frozenset(module.name for module in modules)
    return {module.name: set(imports_of(module, names)) for module in modules}


def top(name: str) -> str:
    return name.partition(".")[0]


def against_direction(graph: Mapping[str, set[str]]) -> list[str]:
    """Returns imports of one of our packages by another that may not."""
    return [
        f"{importer} imports {imported}"
        for importer, targets in graph.items()
        for imported in sorted(targets)
        if top(imported) in OURS - {top(importer)} - MAY_IMPORT[top(importer)]
    ]


def layer_of(name: str) -> str:
    """Returns the layer of a module of `assistant`; "" for any other module."""
    parts = name.split(".")
    return parts[1] if parts[0] == "assistant" and len(parts) > 1 else ""


def against_layers(graph: Mapping[str, set[str]]) -> list[str]:
    """Returns imports within `assistant` of a layer by an earlier one. Raises ValueError for an unlisted layer."""
    return [
        f"{importer} imports {imported}"
        for importer, targets in graph.items()
        for imported in sorted(targets)
        if (own := layer_of(importer)) and (other := layer_of(imported)) and LAYERS.index(own) < LAYERS.index(other)
    ]


def rooms_of(house: str) -> dict[str, frozenset[str]]:
    """Maps each room of a house to the rooms and modules of the house that its `__init__` permits it to import."""
    permitted = {}
    for file in sorted((ROOT / house.replace(".", "/")).glob("*/__init__.py")):
        sentence = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("May import ")[2]
        assert sentence, f"{house}.{file.parent.name} does not say what it may import"
        permitted[file.parent.name] = frozenset(re.findall(r"`(\w+)`", sentence))
    return permitted


def against_rooms(graph: Mapping[str, set[str]], house: str, permitted: Mapping[str, frozenset[str]]) -> list[str]:
    """Returns imports within a house of what the importing room may not import."""

    def part(name: str) -> str:
        return name.removeprefix(f"{house}.").partition(".")[0] if name.startswith(f"{house}.") else ""

    return [
        f"{importer} imports {imported}"
        for importer, targets in graph.items()
        if (room := part(importer)) in permitted
        for imported in sorted(targets)
        if (other := part(imported)) and other != room and other not in permitted[room]
    ]


def engine_package_of(name: str) -> str | None:
    """Returns the engine package of a module. None for a port: the package itself, or one of PORTS."""
    if name in PORTS:
        return None
    return next((package for package in ENGINE_PACKAGES if name.startswith(f"{package}.")), None)


def engines_named(graph: Mapping[str, set[str]]) -> list[str]:
    """Returns imports of concrete engines outside their own package and NAME_ENGINES."""
    return [
        f"{importer} imports {imported}"
        for importer, targets in graph.items()
        if importer not in NAME_ENGINES
        for imported in sorted(targets)
        if (package := engine_package_of(imported)) and not f"{importer}.".startswith(f"{package}.")
    ]


def engine_names() -> frozenset[str]:
    """Returns the names of the engines that the program declares, and of their kinds of models.

    Those of skills are left out: they are common words, such as "lists".
    """
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    names = (name for group, engines in declared.items() if group != "repartee.skills" for name in engines)
    return frozenset(names) | {"whisper"}


def names_in(module: Module) -> set[str]:
    """Returns the texts of a module that are a single name."""
    texts = (node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str)}


def cycle_of(graph: Mapping[str, set[str]]) -> list[str]:
    """Returns modules that import each other in a cycle, the first again at the end; empty if there is none."""
    done: set[str] = set()
    path: list[str] = []

    def visit(name: str) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done or name not in graph:
            return []
        path.append(name)
        ring = next((found for target in sorted(graph[name]) if (found := visit(target))), [])
        path.pop()
        done.add(name)
        return ring

    return next((ring for name in graph if (ring := visit(name))), [])


def wall_clock_lines(module: Module) -> list[int]:
    """Returns the lines that read the time of day: `time.time`, or a name imported from there."""
    lines = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            lines += [node.lineno for alias in node.names if alias.name in CLOCKS]
        elif isinstance(node, ast.Attribute) and node.attr in CLOCKS:
            lines += [node.lineno] if isinstance(node.value, ast.Name) and node.value.id == "time" else []
    return lines


@pytest.fixture(scope="module")
def packages() -> list[Module]:
    return modules_of(*MAY_IMPORT)


@pytest.fixture(scope="module")
def graph(packages: list[Module]) -> dict[str, set[str]]:
    return graph_of(packages)


def test_imports_have_one_direction(graph: dict[str, set[str]]) -> None:
    assert "audio.units" in graph["audio.frame"]  # the graph is not empty
    assert against_direction(graph) == []


def test_layers_of_the_assistant_import_only_earlier_layers(graph: dict[str, set[str]]) -> None:
    assert "assistant.turns.events" in graph["assistant.turns.turn_taking"]
    assert against_layers(graph) == []


def test_assistant_has_only_packages_its_events_and_the_former_entry_point() -> None:
    flat = {file.name for file in (ROOT / "assistant").glob("*.py")}
    assert flat == {"__init__.py", "events.py", "program.py"}


def test_import_of_a_later_layer_is_found() -> None:
    upward = graph_of([module("assistant.turns.turn_taking", "from assistant.pipeline.session import Session")])
    assert against_layers(upward) == ["assistant.turns.turn_taking imports assistant.pipeline.session"]


@pytest.mark.parametrize("house", HOUSES)
def test_room_imports_what_its_sentence_permits(house: str) -> None:
    permitted, graph = rooms_of(house), graph_of(modules_of(house.replace(".", "/")))
    assert len(permitted) > 1
    assert cycle_of({room: set(others) for room, others in permitted.items()}) == []
    assert against_rooms(graph, house, permitted) == []


def test_rooms_are_small() -> None:
    large: dict[str, int] = {}
    for room in [file.parent for package in (*MAY_IMPORT, "bench") for file in (ROOT / package).rglob("__init__.py")]:
        name, count = room.relative_to(ROOT).as_posix(), len([*room.glob("*.py")]) - 1
        limit = MAX_FILES_BESIDE_ROOMS if [*room.glob("*/__init__.py")] else MAX_FILES_OF_ROOM
        large |= {name: count} if count > limit else {}
    assert {name: count for name, count in large.items() if count > LARGE_ROOMS.get(name, 0)} == {}


def test_import_of_a_room_that_is_not_permitted_is_found() -> None:
    upward = graph_of([module("web.wire.items.items", "from web.wire.outgoing.response import Response")])
    assert against_rooms(upward, "web.wire", rooms_of("web.wire")) == [
        "web.wire.items.items imports web.wire.outgoing.response"
    ]


def test_server_imports_no_command(graph: dict[str, set[str]]) -> None:
    servers = {name: targets for name, targets in graph.items() if top(name) == "web"}
    assert [name for name, targets in servers.items() if any(layer_of(one) == "commands" for one in targets)] == []


def test_program_imports_server_only_for_serving() -> None:
    (cli,) = [module for module in modules_of("repartee") if module.name == "repartee.cli"]
    at_once = Module(
        cli.name, ast.Module([node for node in cli.tree.body if not isinstance(node, ast.FunctionDef)], [])
    )
    assert "web.serve" in graph_of([cli])["repartee.cli"]
    assert not [name for name in graph_of([at_once])["repartee.cli"] if top(name) == "web"]


def test_only_listed_modules_name_concrete_engines(graph: dict[str, set[str]]) -> None:
    assert any(engine_package_of(name) for name in graph)
    assert engines_named(graph) == []


def test_no_module_outside_of_an_engine_has_its_name(packages: list[Module]) -> None:
    """An engine's name is read from its declaration."""
    engines = engine_names()
    assert len(engines) > 8
    named = {module.name: found for module in packages if (found := names_in(module) & engines)}
    assert {name: found for name, found in named.items() if not name.startswith(ENGINE_FOLDERS)} == {
        "web.webrtc.calls": {"webrtc"},  # the extra of this name
        "assistant.commands.first_run.answerer_step": {"local"},  # an answer to the question who answers
        "assistant.first_run.answerers": {"local", "openai"},  # the same, and a company
        "assistant.first_run.plan": {"local"},
        "assistant.setup.build": {"local"},  # name of an endpoint, as in --llm
    }


def test_imports_have_no_cycles(graph: dict[str, set[str]]) -> None:
    assert cycle_of(graph) == []


def test_no_module_reads_wall_clock(packages: list[Module]) -> None:
    everybody = [*packages, *modules_of("bench")]
    assert {module.name: lines for module in everybody if (lines := wall_clock_lines(module))} == {}


# Tests of the rules themselves.


AGAINST = {
    "audio imports llm": ("audio.frame", "import llm"),
    "audio imports assistant": ("audio.frame", "from assistant.turns.turn_taking import TurnTaking"),
    "llm imports audio in a function": ("llm.chat", "def f():\n    from audio.units import Pcm"),
    "setup imports web": ("assistant.setup.build", "import web.wire"),
    "setup imports serve": ("assistant.setup.build", "from web.serve import serve"),
    "program imports tests": ("assistant.setup.build", "from tests import conftest"),
    "program imports bench": ("repartee.cli", "import bench.vad"),
}


@pytest.mark.parametrize(("importer", "source"), AGAINST.values(), ids=AGAINST)
def test_import_against_direction_is_found(importer: str, source: str) -> None:
    assert len(against_direction(graph_of([module(importer, source)]))) == 1


WEBRTC_VAD = "from audio.vad.webrtc.detector import WebrtcVad"
NAMED = {
    "class": ("assistant.pipeline.session", WEBRTC_VAD, 1),
    "module": ("assistant.pipeline.session", "from audio.vad.webrtc import detector", 1),
    "llm module": ("web.app", "import llm.openai.chat", 1),
    "skills": ("repartee.cli", "from assistant.skills.chat import SkillsChat", 1),
    "recognizer names a VAD": ("audio.stt.whisper.model", WEBRTC_VAD, 1),
    "protocol names another": ("llm.tgi.stream", "from llm.openai.stream import OpenAIStream", 1),
    "shared module names a protocol": ("llm.answer_state", "from llm.openai.stream import OpenAIStream", 1),
    "protocol uses a shared module": ("llm.tgi.stream", "from llm.sse import Event", 0),
    "setup may": ("assistant.setup.build", WEBRTC_VAD, 0),
    "same package may": ("audio.vad.cascade.detector", WEBRTC_VAD, 0),
    "ports may": ("assistant.pipeline.session", "from audio.vad import Vad\nfrom llm.chat import ChatModel", 0),
}


@pytest.mark.parametrize(("importer", "source", "named"), NAMED.values(), ids=NAMED)
def test_named_engine_is_found(importer: str, source: str, named: int) -> None:
    known = [module("audio.vad.webrtc.detector", ""), module("audio.vad", "", is_package=True)]
    assert len(engines_named(graph_of([*known, module(importer, source)]))) == named


def test_relative_imports_are_followed() -> None:
    modules = [module("a", "", is_package=True), module("a.b", "from . import c"), module("a.c", "from .b import x")]
    assert cycle_of(graph_of(modules)) == ["a.b", "a.c", "a.b"]
    package = module("a.d", "from .e import x", is_package=True)
    assert graph_of([package]) == {"a.d": {"a.d.e"}}


@pytest.mark.parametrize(
    "source",
    ["import time\nt = time.time()", "from time import time_ns", "f(clock=time.time)"],
    ids=["call", "import", "reference"],
)
def test_wall_clock_is_found(source: str) -> None:
    assert len(wall_clock_lines(module("x", source))) == 1
