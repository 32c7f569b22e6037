"""The command `repartee engines`: the installed engines and skills, and the voices by quality and cost."""

import os
from typing import Annotated

import typer
from rich.text import Text

from assistant.commands.options import Config, Overrides, settings_of
from assistant.support.console import terminal


def engines(
    everything: Annotated[bool, typer.Option("--all", help="Voices of all languages, not only of yours.")] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """List the voices by quality and cost, the other engines and the skills. No model is loaded or downloaded."""
    from rich.table import Table

    from assistant.registry.installed import broken_engines
    from assistant.registry.listening import DETECTORS, RECOGNIZERS, TURN_ENDS
    from assistant.registry.protocols import PROTOCOLS
    from assistant.registry.skills import skills_in_order
    from assistant.setup.answering.services import check_skills
    from assistant.setup.voices.listing import listed_voices

    settings = settings_of(config, overrides).settings
    console = terminal()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("voice", no_wrap=True)
    for heading in ("engine", "language"):
        table.add_column(heading, overflow="fold")
    for heading in ("quality", "misheard", "CPU s", "first ms"):
        table.add_column(heading, justify="right")
    voices = listed_voices("" if everything else settings.assistant.language)
    for voice in voices:
        style = "dim" if voice.lacking else None
        table.add_row(voice.name, voice.engine, voice.language or "all", *voice.figures, style=style)
    console.print(table)
    lacking = "\n".join(f"{voice.name} is not installed: {voice.lacking}" for voice in voices if voice.lacking)
    note = (
        "quality: DNSMOS, 1 to 5. misheard: English words that a recognizer does not understand. CPU s: processor time "
        f"for a second of speech. first ms: to the first sound of 25 letters. To choose one: tts.voice.\n{lacking}"
    )
    console.print(Text(f"\n{note}\n", style="dim"), soft_wrap=True)
    others = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("stage", "engine", "about"):
        others.add_column(heading, overflow="fold")
    for stage, registry in (("vad", DETECTORS), ("stt", RECOGNIZERS), ("turn", TURN_ENDS), ("llm", PROTOCOLS)):
        for engine in registry.all():
            others.add_row(stage, engine.name, engine.about)
    check_skills(settings, os.environ)
    for skill in skills_in_order():
        others.add_row("skill", skill.name, f"{skill.about} ({', '.join(skill.languages)})")
    console.print(others)
    for broken in broken_engines():
        text = f"{broken.distribution}: its engine {broken.name} cannot be used: {broken.error}"
        console.print(Text(text, style="yellow"), soft_wrap=True)
