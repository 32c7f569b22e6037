"""Generates the tables of engines and models in the guides from the declarations of the engines.

`PYTHONPATH=tests python tests/support/generated/engine_tables.py` in the repository's root writes them;
tests/assistant/registry/test_entry_points.py compares them.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from support.generated.licence_table import licence_of

from assistant.models.catalogue import MODELS
from assistant.models.needs import size_text
from assistant.registry.listening import DETECTORS, RECOGNIZERS
from assistant.registry.voices import VOICES
from audio.engines.recognizer import RecognizerEngine
from audio.engines.vad import VadEngine
from audio.engines.voice import ANY_LANGUAGE, VoiceEngine
from declarations.models import Model, ModelKind

ROOT = Path(__file__).parents[3]

Engine = VoiceEngine | RecognizerEngine | VadEngine


def voices() -> str:
    """Returns the table of voice engines: languages, cost, licence."""
    head = (
        "`tts.engine`",
        "what it is",
        "languages",
        "misheard words",
        "processor s per second",
        "first sound",
        "licence",
    )
    return _table(head, (_voice(engine) for engine in VOICES.all()))


def recognizers() -> str:
    """Returns the table of recognizers: languages, models, licence."""
    head = "`stt.engine`", "what it is", "models", "licence"
    return _table(head, ((f"`{e.name}`", e.about, _models(e.models), _licences(e)) for e in RECOGNIZERS.all()))


def detectors() -> str:
    """Returns the table of voice activity detectors."""
    head = "`vad.engine`", "what it is", "licence"
    rows = ((f"`{e.name}`{' (default)' * e.is_default}", e.about, _licences(e)) for e in DETECTORS.all())
    return _table(head, rows)


def models() -> str:
    """Returns the table of all models that can be downloaded."""
    return _table(("name", "on the hub", "size", "language", "licence"), map(_model, MODELS.values()))


TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "docs/tts.md": {"voices": voices},
    "docs/stt.md": {"recognizers": recognizers},
    "docs/vad.md": {"detectors": detectors},
    "docs/models.md": {"models": models},
}
"""The tables of each page, by the name in their markers."""


def page_with_tables(page: str) -> str:
    """Returns a page with its tables replaced. Raises ValueError if it lacks the markers of one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, table in TABLES[page].items():
        begin, end = (
            f"<!-- {name}: written by tests/support/generated/engine_tables.py -->\n",
            f"<!-- end of {name} -->\n",
        )
        before, begins, rest = text.partition(begin)
        _, ends, after = rest.partition(end)
        if not (begins and ends):
            raise ValueError(f"{page} lacks the lines {begin}{end}")
        text = f"{before}{begin}\n{table()}\n{end}{after}"
    return text


def _voice(engine: VoiceEngine) -> tuple[str, ...]:
    found = engine.figures
    misheard, processor_s, first_ms = "–", "–", "–"
    if found is not None:
        misheard, processor_s = f"{100 * found.word_errors:.1f} %", f"{found.processor_s:.4f}"
        first_ms = f"{found.first_sound_ms:.0f} ms"
    return f"`{engine.name}`", engine.about, _languages(engine), misheard, processor_s, first_ms, _licences(engine)


def _languages(engine: VoiceEngine) -> str:
    if ANY_LANGUAGE in engine.ranks and engine.models is not None:
        return f"{', '.join(sorted({code for one in engine.models.catalogue for code in one.languages}))} and others"
    return "all" if ANY_LANGUAGE in engine.ranks else ", ".join(sorted(engine.ranks))


def _models(kind: ModelKind | None) -> str:
    if kind is None:
        return "none"
    sizes = [one.size_mb for one in kind.catalogue if one.size_mb is not None]
    span = dict.fromkeys((size_text(min(sizes)), size_text(max(sizes))))
    return f"{len(kind.catalogue)}, {' to '.join(span)}"


def _licences(engine: Engine) -> str:
    return ", ".join(f"{licence_of(package)} ({package})" for package in engine.packages) or "part of this program"


def _model(model: Model) -> tuple[str, ...]:
    size = "–" if model.size_mb is None else size_text(model.size_mb)
    return f"`{model.name}`", model.repository, size, ", ".join(model.languages) or "many", model.licence


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = tuple(head)
    lines = [f"| {' | '.join(cells)} |\n" for cells in (titles, *rows)]
    lines.insert(1, f"|{'---|' * len(titles)}\n")
    return "".join(lines)


if __name__ == "__main__":
    for page in TABLES:
        text = page_with_tables(page)
        (ROOT / page).write_text(text, encoding="utf-8")
