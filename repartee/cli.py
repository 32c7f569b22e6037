"""The command line of `repartee`: its commands and their options."""

import asyncio
import io
import os
import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_group

from assistant.commands.cache import cache
from assistant.commands.cluster.cli import cluster
from assistant.commands.completion import COMPLETE, completion
from assistant.commands.conversations import conversations
from assistant.commands.engine_bench.cli import bench
from assistant.commands.engines import engines
from assistant.commands.first_run.cli import init
from assistant.commands.lists import lists
from assistant.commands.llm_endpoints.cli import endpoints
from assistant.commands.memory.cli import memory
from assistant.commands.models import models
from assistant.commands.options import Config, Llm, Overrides, settings_of, with_home
from assistant.commands.safe_errors import SafeErrorGroup
from assistant.commands.trace import trace
from assistant.commands.uninstall.cli import uninstall
from assistant.commands.voices.cli import voices
from assistant.config.errors import ConfigError
from assistant.models.errors import ModelError
from assistant.support import process_limits
from assistant.support.console import guarded, terminal, write_error
from assistant.support.exception_groups import first_of
from assistant.support.paths import HomeError
from assistant.support.signals import as_ctrl_c
from audio.errors import AudioError
from llm.errors import LlmError
from repartee.service_cli import service

HELP_OPTIONS = ["-h", "--help"]

app = typer.Typer(
    name="repartee",
    cls=SafeErrorGroup,
    help="A voice assistant on your own machine. It says for every answer where the time went.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": HELP_OPTIONS},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

MIN_VALUE_COLUMNS = 20
"""Least columns for a setting's value at which key and origin are not wrapped."""


def _print_version(enabled: bool) -> None:
    if enabled:
        from importlib.metadata import version

        typer.echo(f"repartee {version('repartee')}")
        raise typer.Exit


@app.callback()
def repartee(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A voice assistant on your own machine. It says for every answer where the time went."""


app.command()(init)
app.command()(engines)


@app.command()
def demo(  # noqa: PLR0917 - each is an option of the command
    wav: Annotated[
        Path | None,
        typer.Option(
            parser=with_home,
            metavar="FILE",
            help="Your own recording: wav, flac, ogg, mp3 or m4a, any rate, mono or stereo.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(parser=with_home, metavar="DIR", help="Folder of demo.wav and the trace.")
    ] = Path("out"),
    stt: Annotated[str | None, typer.Option(metavar="ENGINE", help="Short for --set stt.engine=ENGINE.")] = None,
    tts: Annotated[str | None, typer.Option(metavar="ENGINE", help="Short for --set tts.engine=ENGINE.")] = None,
    cache_answers: Annotated[
        bool, typer.Option("--cache", help="Cache answers; without a recording, the user asks the same twice.")
    ] = False,
    play: Annotated[bool, typer.Option("--play", help="Play the conversation afterwards.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all engines, with the reasons.")] = False,
    llm: Llm = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Run a conversation with a recorded user, in real time, and write its sound and trace."""
    from assistant.commands.demo import demo as run_demo
    from assistant.config.sources import Option

    engines = [Option("--stt", "stt.engine", stt), Option("--tts", "tts.engine", tts)]
    loaded = settings_of(config, overrides, engines)
    asyncio.run(
        run_demo(wav, out, loaded, os.environ, terminal(), llm=llm, cache=cache_answers, verbose=verbose, play=play)
    )


@app.command()
def serve(  # noqa: PLR0917 - each is an option of the command
    host: Annotated[str | None, typer.Option(metavar="H", help="Short for --set server.host=H.")] = None,
    port: Annotated[str | None, typer.Option(metavar="P", help="Short for --set server.port=P.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept other machines although REPARTEE_TOKEN is not set.")
    ] = False,
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificate (PEM) to serve https:// and wss:// with.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Private key of --tls-cert (PEM).")] = None,
    tls_self_signed: Annotated[
        bool, typer.Option("--tls-self-signed", help="Serve https:// with a certificate that the server makes itself.")
    ] = False,
    wyoming: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Also serve Wyoming, as for Home Assistant: tcp://127.0.0.1:10300."),
    ] = None,
    llm: Llm = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Start the server: talk from a web page, or from any client of the OpenAI Realtime protocol."""
    from assistant.commands.first_run.hint import show_hint
    from assistant.commands.llm_endpoints.local_search import with_llm_choice
    from assistant.config.sources import Option
    from web.serve import replace_process
    from web.serve import serve as run_server

    async def run() -> bool:
        console = terminal()
        show_hint(console, config, os.environ, [llm, overrides])
        chosen = await with_llm_choice(loaded, llm, console)
        return await run_server(chosen, os.environ, console, insecure=insecure, config=config)

    address = [
        Option("--host", "server.host", host),
        Option("--port", "server.port", port),
        Option("--tls-cert", "server.tls_cert", tls_cert),
        Option("--tls-key", "server.tls_key", tls_key),
        Option("--wyoming", "server.wyoming", wyoming),
        Option("--tls-self-signed", "server.tls_self_signed", "true" if tls_self_signed else None),
    ]
    loaded = settings_of(config, overrides, address)
    if asyncio.run(run()):
        replace_process()


@app.command()
def talk(  # noqa: PLR0917 - each is an option of the command
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="With --resume: the conversation's name or its beginning.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(metavar="open|push-to-talk|wake", help="Short for --set talk.mode=MODE.")
    ] = None,
    wake_word: Annotated[
        list[str] | None,
        typer.Option("--wake-word", metavar="WORD", help="Sleep until this word is said, as in okay_nabu; repeatable."),
    ] = None,
    audio_in: Annotated[
        str | None, typer.Option("--input", metavar="DEVICE", help="Short for --set audio.input=DEVICE.")
    ] = None,
    audio_out: Annotated[
        str | None, typer.Option("--output", metavar="DEVICE", help="Short for --set audio.output=DEVICE.")
    ] = None,
    echo: Annotated[
        str | None,
        typer.Option(metavar="auto|cancel|headphones|half-duplex", help="Short for --set audio.echo=ECHO."),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Print lines instead of the screen.")] = False,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Talk to a `repartee serve`, as in ws://host:8765.")
    ] = None,
    room: Annotated[str | None, typer.Option(metavar="NAME", help="Short for --set satellite.room=NAME.")] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="With --server and --wake-word: a satellite that prints its states only.")
    ] = False,
    tls_fingerprint: Annotated[
        str | None, typer.Option(metavar="SHA256", help="With --server wss://…: accept this certificate only.")
    ] = None,
    tls_ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --server wss://…: accept certificates of this authority.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a kept conversation: NAME, or the latest one.")
    ] = False,
    llm: Llm = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Talk through this machine's microphone and loudspeaker."""
    from assistant.config.sources import Option

    given = [
        Option("--mode", "talk.mode", mode),
        Option("--wake-word", "talk.wake_word", " ".join(wake_word) if wake_word else None),
        Option("--input", "audio.input", audio_in),
        Option("--output", "audio.output", audio_out),
        Option("--echo", "audio.echo", echo),
        Option("--room", "satellite.room", room),
    ]
    loaded = settings_of(config, overrides, given)
    console = terminal()
    if name is not None and not resume:
        raise ConfigError([f"talk {name}: to resume a conversation, write `repartee talk --resume {name}`"])
    resume_name = (name or "") if resume else None
    if server is not None:
        from repartee.server_talk import run_headless, talk_with

        if resume_name is not None or llm is not None:
            raise ConfigError(
                ["--server: leave out --resume and --llm; the server stores the conversation and chooses its models"]
            )
        if headless:
            run_headless(server, loaded, os.environ, tls_fingerprint=tls_fingerprint, tls_ca=tls_ca)
        asyncio.run(talk_with(server, loaded, os.environ, plain=plain, tls_fingerprint=tls_fingerprint, tls_ca=tls_ca))
        return
    if headless:
        raise ConfigError(["--headless: add --server URL, as in --server ws://host:8765"])
    if tls_fingerprint is not None or tls_ca is not None:
        raise ConfigError(["--tls-fingerprint and --tls-ca: add --server wss://…"])
    from assistant.commands.first_run.hint import show_hint
    from assistant.commands.talk.command import talk as run_talk

    show_hint(console, config, os.environ, [llm, overrides, resume_name])
    asyncio.run(run_talk(loaded, os.environ, console, plain=plain, llm=llm, resume=resume_name))


@app.command()
def read(  # noqa: PLR0917 - each is an option of the command
    files: Annotated[
        list[Path], typer.Argument(parser=with_home, metavar="FILE", help="Text, markdown or PDF, in this order.")
    ],
    text: Annotated[bool, typer.Option("--text", help="Print the summaries instead of speaking them.")] = False,
    once: Annotated[bool, typer.Option("--once", help="End after the reading.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(parser=with_home, metavar="FILE", help="Write the sound to this WAV file instead of playing it."),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Print lines instead of the screen of `talk`.")] = False,
    llm: Llm = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Summarize documents aloud, part by part, and answer questions about them."""
    from assistant.commands.read.command import ReadOptions
    from assistant.commands.read.command import read as run_read

    if text and out is not None:
        raise ConfigError(["--text: leave out --out; text has no sound to write"])
    loaded = settings_of(config, overrides)
    asyncio.run(run_read(files, loaded, os.environ, terminal(), ReadOptions(text, once, out, plain, llm)))


@app.command()
def config(
    everything: Annotated[
        bool, typer.Option("--all", help="Show every setting, not only the everyday and the changed ones.")
    ] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Show the effective configuration, and where each value comes from."""
    from rich.table import Table

    from assistant.config.everyday_keys import EVERYDAY_KEYS
    from assistant.config.loading import render_effective

    loaded = settings_of(config, overrides)
    console, every_row = terminal(), render_effective(loaded)
    rows = [row for row in every_row if everything or row.key in EVERYDAY_KEYS or row.origin != "default"]
    rows.sort(key=lambda row: row.key not in EVERYDAY_KEYS)
    # Not wrapped while the values keep enough room: columns that cannot wrap would take all of it.
    keys, origins = max(len(row.key) for row in rows), max(len(row.origin) for row in rows)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("key", overflow="fold", no_wrap=console.width >= keys + 2 * MIN_VALUE_COLUMNS)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold", no_wrap=console.width >= keys + origins + MIN_VALUE_COLUMNS)
    for row in rows:
        table.add_row(row.key, row.value, row.origin, style="dim" if row.origin == "default" else None)
    console.print(table)
    if left_out := len(every_row) - len(rows):
        console.print(f"{left_out} other settings have their defaults: repartee config --all", style="dim")


@app.command()
def devices(
    meter: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.5, max=3600, help="Show the microphone's level for this time."),
    ] = None,
    tone: Annotated[bool, typer.Option("--tone", help="Play two notes on the loudspeaker.")] = False,
    microphone: Annotated[
        str, typer.Option("--input", metavar="NAME", help="Microphone: its name, a part of it, or its number.")
    ] = "",
    loudspeaker: Annotated[
        str, typer.Option("--output", metavar="NAME", help="Loudspeaker: its name, a part of it, or its number.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the tables.")] = False,
) -> None:
    """List microphones and loudspeakers, and test them. Exit status 1: there is none."""
    from assistant.commands.devices import DevicesOptions
    from assistant.commands.devices import devices as run_devices

    options = DevicesOptions(microphone, loudspeaker, meter, tone, as_json)
    sys.exit(run_devices(options, terminal()))


@app.command()
def doctor(  # noqa: PLR0917 - each is an option of the command
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the report.")] = False,
    satellite: Annotated[bool, typer.Option("--satellite", help="Check only what a satellite needs.")] = False,
    server: Annotated[str | None, typer.Option(metavar="URL", help="With --satellite: its server.")] = None,
    tls_fingerprint: Annotated[str | None, typer.Option(metavar="SHA256", help="As for `talk --server`.")] = None,
    tls_ca: Annotated[str | None, typer.Option(metavar="FILE", help="As for `talk --server`.")] = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Check what works on this machine and what is missing. Exit status 1: no conversation can be held."""
    if satellite:
        from repartee.satellite_check import print_check

        sys.exit(print_check(settings_of(config, overrides).settings, server, tls_fingerprint, tls_ca))
    if (server, tls_fingerprint, tls_ca) != (None, None, None):
        raise ConfigError(["--server, --tls-fingerprint, --tls-ca: add --satellite"])
    from assistant.commands.doctor.command import doctor as run_doctor

    sys.exit(run_doctor(config, overrides or [], terminal(), as_json=as_json))


app.command()(completion)
app.command()(uninstall)
app.add_typer(models, name="models")
app.add_typer(bench, name="bench")
app.add_typer(endpoints, name="endpoints")
app.add_typer(cache, name="cache")
app.add_typer(conversations, name="conversations")
app.add_typer(lists, name="lists")
app.add_typer(voices, name="voices")
app.add_typer(memory, name="memory")
app.add_typer(trace, name="trace")
app.add_typer(service, name="service")
app.add_typer(cluster, name="cluster")


def main() -> None:
    """Runs the program. A user error ends with one line of text."""
    # A limited output encoding replaces unknown characters with question marks instead of raising an error.
    for stream in (sys.stdout, sys.stderr):  # None where there is no console
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    with guarded(), as_ctrl_c():
        try:
            _run_and_flush()
        except KeyboardInterrupt:  # outside the command, which handles it itself
            sys.exit(130)


def _run_and_flush() -> None:
    why = ""
    try:
        _run()
    except* OSError:
        # The failed output is discarded. Writing one more line shows whether the output caused the error.
        why = _flush_error(sys.stdout, "\n")
        if not why:
            raise
    finally:
        if why := why or _flush_error(sys.stdout):
            write_error(f"the output cannot be written ({why})")
            sys.exit(1)


def _flush_error(output: TextIO | None, more: str = "") -> str:
    """Flushes the output and writes `more`. Returns the error text; the output is then discarded from now on.

    A closed pipe is not an error.
    """
    if output is None or output.closed:
        return ""
    try:
        output.write(more)
        output.flush()
    except OSError as error:
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, output.fileno())
        os.close(nobody)
        return "" if isinstance(error, BrokenPipeError) else str(error.strerror)
    return ""


def _run() -> None:
    # A thread that runs Python code must not block the event loop for the default 5 ms.
    sys.setswitchinterval(0.0005)

    # An exit inside an except* block would become part of an exception group, so it follows the block.
    message, code = "", 0
    try:
        _program()()
    except* (ConfigError, AudioError, HomeError, LlmError, ModelError) as errors:
        message, code = str(first_of(errors)), process_limits.EXIT_CODE
        message = process_limits.explanation(message, sys.argv[1:]) or message
    if code:
        write_error(message)
        sys.exit(code)


def _program() -> TyperGroup:
    """Returns the commands of `app` without the Python types that Typer shows for flags ("--json <bool>")."""
    program = get_group(app)
    _hide_types(program)
    if COMPLETE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    return program


def _hide_types(command: object) -> None:
    assert isinstance(command, TyperCommand | TyperGroup)
    for parameter in command.get_params(typer.Context(command, help_option_names=HELP_OPTIONS)):
        if not isinstance(parameter, TyperOption) or parameter.is_flag:
            vars(parameter)["display_type_rich"] = lambda ctx: None  # replaces the method
    if isinstance(command, TyperGroup):
        for one in command.commands.values():
            _hide_types(one)
