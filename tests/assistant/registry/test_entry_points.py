"""Engines that are installed as packages: they are found, broken ones harm nothing, and the guides list them."""

from pathlib import Path

import pytest
from support.engines.installed_packages import Install, printed
from support.generated.engine_tables import ROOT, TABLES, page_with_tables

from assistant.registry.voices import VOICES, last_resort, ranked_voice_engines

GOOD = """
from audio.engines.voice import VoiceEngine

ENGINE = VoiceEngine(name="tin", make=lambda request: None, about="", ranks={"en": 99})
"""


def test_built_in_voices_are_entry_points() -> None:
    assert {"piper", "espeak-ng"} <= set(VOICES.names)
    assert VOICES.broken() == ()
    assert [engine.name for engine in VOICES.all() if engine.last_resort] == ["espeak-ng"]


def test_last_resort_is_preferred_to_no_engine_of_a_language() -> None:
    for language in ("en", "de-AT", "eo"):
        assert ranked_voice_engines(language)[-1] is last_resort()


def test_installed_voice_is_offered_without_a_change_of_the_program(tmp_path: Path, install: Install) -> None:
    install("tin_voice", GOOD, "repartee.tts", "tin")
    said = printed(
        tmp_path,
        "from assistant.registry.voices import ranked_voice_engines\n"
        "from assistant.config.loading import load_settings\n"
        "print(load_settings(None, {}, ['tts.engine=tin']).settings.tts.engine, ranked_voice_engines('en')[0].name)",
    )
    assert said == "tin tin\n"


def test_former_key_means_the_engine_of_the_program(tmp_path: Path, install: Install) -> None:
    text = GOOD.replace("ENGINE", "from audio.engines.settings import OnnxSettings\n\nENGINE")
    install("tin_voice", text.replace('about=""', 'about="", settings=OnnxSettings'), "repartee.tts", "tin")
    program = "from assistant.config.settings import FORMER_KEYS, KEYS\n"
    said = printed(tmp_path, program + "print('tts.tin.provider' in KEYS, FORMER_KEYS['tts.provider'])")
    assert said == "True tts.piper.provider\n"


@pytest.mark.parametrize(
    ("text", "engine", "said"),
    [
        ("import nothing_of_this_name\nENGINE = None", "tin", "ModuleNotFoundError"),
        ("ENGINE = 3", "tin", "is no VoiceEngine"),
        (GOOD, "lead", "it declares the name 'tin'"),
        (GOOD, "ray", "this name is reserved"),
        (GOOD, "piper", "has an engine of this name, too"),
    ],
    ids=["import fails", "no declaration", "another name", "reserved name", "name of a built-in one"],
)
def test_broken_package_is_named_and_harms_no_other(
    tmp_path: Path, install: Install, text: str, engine: str, said: str
) -> None:
    install("tin_voice", text, "repartee.tts", engine)
    found = printed(
        tmp_path,
        "from assistant.registry.voices import VOICES\n"
        "from assistant.config.loading import settings_in\n"
        "from pathlib import Path\n"
        "(broken,) = VOICES.broken()\n"
        "settings_in(b'[tts.lead]\\nkey = 1\\n' if broken.name == 'lead' else b'', Path('x'))\n"
        "print(broken.distribution, broken.error, VOICES.get('piper').name)",
    )
    assert found.startswith("tin_voice 1.0 ")
    assert said in found
    assert found.endswith(" piper\n")


# ---- tables of the guides ----


@pytest.mark.parametrize("page", TABLES)
def test_page_has_the_tables_of_the_declarations(page: str) -> None:
    """To write them: `PYTHONPATH=tests python tests/support/generated/engine_tables.py`."""
    assert (ROOT / page).read_text(encoding="utf-8") == page_with_tables(page)
