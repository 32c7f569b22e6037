"""`repartee endpoints`: what is configured, what runs on this machine, whether it answers, and what to do next."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistant.config import Loaded
from assistant.local_servers import AUTO, SHOWN_MODELS, handles, offers, port_here, shortened
from assistant.settings import EndpointSection
from llm.discovery import PORTS, FoundServer, discover
from llm.errors import LlmError
from llm.listing import ask

ASK_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True)
class Checked:
    """A configured endpoint, asked.

    Attributes:
        endpoint: As configured.
        state: In a few words.
        problem: What is wrong and what to do; empty if nothing is.
    """

    endpoint: EndpointSection
    state: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """Everybody's answers."""

    configured: tuple[Checked, ...]
    found: tuple[FoundServer, ...]
    ports: tuple[int, ...]


async def survey(loaded: Loaded, environ: Mapping[str, str], *, ports: Sequence[int] = PORTS) -> Survey:
    """Ask all at once: the configured ones for at most three seconds, localhost as `discover` does."""
    async with asyncio.TaskGroup() as asking:
        looking = asking.create_task(discover(ports), name="localhost")
        checks = [
            asking.create_task(_check(endpoint, environ), name=endpoint.name)
            for endpoint in loaded.settings.llm.endpoints
        ]
    return Survey(tuple(check.result() for check in checks), looking.result(), tuple(ports))


def show(seen: Survey, file: Path | None, console: Console) -> None:
    """The survey as tables, and what to do next."""
    source = f" ({file})" if file is not None else ""
    if seen.configured:
        rows = [
            (check.endpoint.name, _shown(check.endpoint.url), check.endpoint.model, check.state, bool(check.problem))
            for check in seen.configured
        ]
        _table(console, f"configured{source}", ("name", "address", "model", "state"), rows)
        for check in seen.configured:
            if check.problem:
                console.print(Text(check.problem, style="yellow"), soft_wrap=True)
    else:
        console.print(Text(f"no endpoint is configured{source}"), soft_wrap=True)
    console.print()
    if seen.found:
        rows = [
            (server.name, server.url, offers(server), f"answers in {server.round_trip_ms:.0f} ms", not server.usable)
            for server in seen.found
        ]
        _table(console, "found on localhost", ("server", "address", "models", "state"), rows)
    else:
        ports = ", ".join(map(str, seen.ports))
        console.print(Text(f"no server of language models on localhost (ports {ports})"), soft_wrap=True)
    console.print()
    for line in next_steps(seen):
        console.print(Text(line), soft_wrap=True)


def next_steps(seen: Survey) -> list[str]:
    """What the person may do now."""
    lines = []
    taken = [check.endpoint for check in seen.configured]
    for handle, server in handles(seen.found).items():
        if port_here(server.url) in {port_here(endpoint.url) for endpoint in taken}:
            continue
        if server.needs_key:
            lines.append(f"add it: repartee endpoints add {handle} --api-key-env VARIABLE (the variable holds its key)")
        elif not server.models:
            lines.append(f"{server.name} at {server.url} has {offers(server)}: load a chat model there, then add it")
        else:
            model = " --model MODEL" if len(server.models) > 1 else ""
            lines.append(f"add it: repartee endpoints add {handle}{model}")
    if not taken:
        if any(server.usable for server in seen.found):
            lines.append(f"or only once: repartee demo --llm {AUTO}")
        else:
            lines.append(
                "start a server (Ollama, llama.cpp, vLLM, LM Studio), or add one elsewhere: "
                "repartee endpoints add NAME --url URL"
            )
        lines.append("until then the built-in skills answer")
    elif not all(check.problem for check in seen.configured):
        lines.append("next: repartee demo")
    return lines


async def _check(endpoint: EndpointSection, environ: Mapping[str, str]) -> Checked:
    key = environ.get(endpoint.api_key_env) or None
    if endpoint.api_key_env and key is None:
        problem = f"{endpoint.name}: the environment variable {endpoint.api_key_env} is not set; put the key there"
        return Checked(endpoint, "not asked: no key", problem)
    try:
        listing = await ask(endpoint.name, endpoint.url, api_key=key, timeout_s=ASK_TIMEOUT_S)
    except (LlmError, ValueError) as error:
        return Checked(endpoint, "no answer", str(error))
    answers = f"answers in {listing.round_trip_ms:.0f} ms"
    models = listing.models
    if listing.needs_key:
        remedy = f"correct {endpoint.api_key_env}" if key else "name the variable that holds it as its api_key_env"
        problem = f"{endpoint.name}: wants {'another' if key else 'a'} key: {remedy}"
        return Checked(endpoint, f"{answers}, refuses", problem)
    if models is None:
        return Checked(endpoint, f"{answers}, lists no models")
    listed = (*models.chat, *models.others)
    if endpoint.model in listed or f"{endpoint.model}:latest" in listed:
        return Checked(endpoint, answers)
    there = shortened(models.chat, SHOWN_MODELS) or "none for chat"
    return Checked(endpoint, f"{answers}, not this model", f"{endpoint.name}: its models are {there}; correct model")


def _table(
    console: Console, title: str, headings: Sequence[str], rows: Sequence[tuple[str, str, str, str, bool]]
) -> None:
    console.print(Text(title))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for *cells, warn in rows:
        table.add_row(*(Text(str(cell)) for cell in cells), style="yellow" if warn else None)
    console.print(table)


def _shown(url: str) -> str:
    return url.partition("?")[0]
