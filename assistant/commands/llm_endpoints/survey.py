"""Implements `repartee endpoints`: configured and local language models, their answers, and the next steps."""

import asyncio
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistant.commands.llm_endpoints.comparison import Comparison
from assistant.commands.llm_endpoints.picture import show_figures
from assistant.config.loading import Loaded
from assistant.config.words import config_option
from assistant.endpoint_probe.figures import (
    ANSWER_TOKENS,
    PROMPT_TOKENS,
    EndpointMeasurement,
    as_fields,
    given_up,
    given_up_after_ms,
)
from assistant.endpoint_probe.local_servers import AUTO, SUGGESTED, handles, offers, port_here
from assistant.endpoint_probe.probe import import_clients, measure_endpoint
from assistant.setup import build
from llm.discovery import PORTS, FoundServer, discover


@dataclass(frozen=True, slots=True)
class Survey:
    """Results for all endpoints and servers. `local`: the model that this program runs; "" for none."""

    configured: tuple[EndpointMeasurement, ...]
    servers: tuple[FoundServer, ...]
    ports: tuple[int, ...]
    requests: int = 0
    local: str = ""

    def to_json(self, compared: Comparison | None = None) -> str:
        """Returns the survey as one line of JSON, with the comparison of locations if there is one."""
        return json.dumps(
            {
                "schema": 1,
                **({} if compared is None else {"comparison": compared.as_fields()}),
                "turn": {"prompt_tokens": PROMPT_TOKENS, "answer_tokens": ANSWER_TOKENS},
                "endpoints": [as_fields(each) for each in self.configured],
                "found": [asdict(server) for server in self.servers],
            },
            ensure_ascii=False,
        )


async def survey(
    loaded: Loaded,
    environ: Mapping[str, str],
    *,
    requests: int = 0,
    handshakes: int = 1,
    ports: Sequence[int] = PORTS,
) -> Survey:
    """Measures all endpoints concurrently and searches localhost.

    Args:
        loaded: The settings with the endpoints.
        environ: Environment variables with the keys.
        requests: Short answers per endpoint.
        handshakes: New connections per endpoint.
        ports: Local ports to search.
    """
    if requests:
        await import_clients(loaded.settings, environ)
    async with asyncio.TaskGroup() as asking:
        looking = asking.create_task(discover(ports), name="localhost")
        checks = [
            asking.create_task(
                measure_endpoint(endpoint, loaded.settings, environ, requests=requests, handshakes=handshakes),
                name=endpoint.name,
            )
            for endpoint in loaded.settings.llm.endpoints
        ]
    local, _ = build.local_endpoint(loaded.settings)
    measured = tuple(check.result() for check in checks)
    return Survey(measured, looking.result(), tuple(ports), requests, "" if local is None else local.model)


def endpoint_source(loaded: Loaded) -> str:
    """Returns the source of the endpoints: a file, a variable or an option; "" if no file was read."""
    origin = loaded.origin["llm.endpoints"]
    elsewhere = origin.startswith(("environment ", "--set"))
    return origin if elsewhere else str(loaded.file or "")


def show(seen: Survey, source: str, config: Path | None, console: Console) -> None:
    """Prints the survey and the next steps. `source`: of the endpoints; `config`: the requested file."""
    origin = f" ({source})" if source else ""
    if seen.configured:
        rows = [
            (check.endpoint.name, check.shown_address, check.endpoint.model, check.state, bool(check.problem))
            for check in seen.configured
        ]
        _table(console, f"configured{origin}", ("name", "address", "model", "state"), rows)
        for check in seen.configured:
            if check.problem:
                console.print(Text(check.problem, style="yellow"), soft_wrap=True)
        show_figures(seen.configured, console, requests=seen.requests)
    else:
        console.print(Text(f"no endpoint is configured{origin}"), soft_wrap=True)
    console.print()
    if seen.servers:
        rows = [
            (server.name, server.url, offers(server), f"answers in {server.round_trip_ms:.0f} ms", not server.usable)
            for server in seen.servers
        ]
        _table(console, "found on localhost", ("server", "address", "models", "state"), rows)
    else:
        ports = ", ".join(map(str, seen.ports))
        console.print(Text(f"no language-model server was found on localhost (ports {ports})"), soft_wrap=True)
    console.print()
    for line in next_steps(seen, config):
        console.print(Text(line), soft_wrap=True)


def next_steps(seen: Survey, config: Path | None) -> list[str]:
    """Returns what the user can do next, repairs first. `config`: the requested file."""
    lines = _repairs(seen.configured, config)
    taken = [check.endpoint for check in seen.configured]
    for handle, server in handles(seen.servers).items():
        if port_here(server.url) in {port_here(endpoint.url) for endpoint in taken}:
            continue
        if server.needs_key:
            command = f"repartee endpoints add {handle} --api-key-env VARIABLE{config_option(config)}"
            lines.append(f"add it: {command} (the variable holds its key)")
        elif not server.models:
            lines.append(f"{server.name} at {server.url} has {offers(server)}: load a chat model there, then add it")
        else:
            model = " --model MODEL" if len(server.models) > 1 else ""
            lines.append(f"add it: repartee endpoints add {handle}{model}{config_option(config)}")
    if not taken:
        if any(server.usable for server in seen.servers):
            lines.append(f"or for one run: repartee demo --llm {AUTO}{config_option(config)}")
        else:
            lines.append(
                "start a server (Ollama, llama.cpp, vLLM, LM Studio), or add one elsewhere: "
                f"repartee endpoints add NAME --url URL{config_option(config)}"
            )
            if not seen.local:
                lines.append(
                    f"or get a model for this machine: repartee models pull {SUGGESTED}{config_option(config)}"
                )
        answering = f"{seen.local} on this machine answers" if seen.local else "the built-in skills answer"
        lines.append(f"until then {answering}")
    for slow in given_up(seen.configured):
        name = slow.endpoint.name
        lines.append(
            f"{name} takes {slow.first_token_ms(50):.0f} ms to its first token; with other endpoints configured it is "
            f"abandoned after {given_up_after_ms(slow) / 1000:g} s: raise its patience_s, use a smaller model, or use "
            f"it alone (--llm {shlex.quote(name)})"
        )
    if any(_works(check) for check in seen.configured):
        lines.append(f"next: repartee demo{config_option(config)}")
    elif taken:
        lines.append(f"or without a language model: repartee demo --llm skills{config_option(config)}")
    return lines


def _works(check: EndpointMeasurement) -> bool:
    """Returns whether a conversation can be held with it."""
    return bool(check.answers) or not check.problem


def _repairs(configured: Sequence[EndpointMeasurement], config: Path | None) -> list[str]:
    """Returns the number of broken endpoints, and the remedy for each."""
    broken = [check for check in configured if check.problem]
    if not broken:
        return []
    count = f"{len(broken)} of {len(configured)} endpoints {'is' if len(broken) == 1 else 'are'} broken"
    lines = [f"{count}; repair those you need, or remove them:"]
    for check in broken:
        remove = f"repartee endpoints remove {shlex.quote(check.endpoint.name)}{config_option(config)}"
        lines.append(f"  {check.endpoint.name}: {_remedy(check)} ({remove})")
    return lines


def _remedy(check: EndpointMeasurement) -> str:
    """Returns the last part of its problem, without the service's own text."""
    return check.problem.partition(': "')[0].rpartition(": ")[2]


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
