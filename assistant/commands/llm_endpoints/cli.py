"""The commands `repartee endpoints ...`: list, measure, add and remove language models."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from assistant.commands.options import Config, Overrides, settings_of, with_home
from assistant.config.errors import ConfigError
from assistant.support.console import terminal, write_json

endpoints = typer.Typer(help="List, measure, add and remove language models.")


@endpoints.callback(invoke_without_command=True)
def list_endpoints(  # noqa: PLR0917 - each is an option of the command
    context: typer.Context,
    requests: Annotated[
        int,
        typer.Option(min=0, max=100, metavar="N", help="Short answers requested from each; 0: none, at no cost."),
    ] = 5,
    svg: Annotated[
        Path | None, typer.Option(parser=with_home, metavar="FILE", help="Draw the latencies to an SVG file.")
    ] = None,
    png: Annotated[
        Path | None, typer.Option(parser=with_home, metavar="FILE", help="Draw the latencies to a PNG file.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare the locations by their time to the first token, and choose one.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the tables.")] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """List the configured language models with their latencies, those on this machine, and what to do next."""
    if context.invoked_subcommand is not None:
        return
    from assistant.commands.llm_endpoints import comparison
    from assistant.commands.llm_endpoints.picture import draw
    from assistant.commands.llm_endpoints.survey import endpoint_source, show, survey
    from assistant.support.atomic_file import is_among
    from assistant.support.plots import why_no_plots

    loaded = settings_of(config, overrides)
    for picture in (svg, png):
        if picture is not None and loaded.file is not None and is_among(picture, [loaded.file]):
            raise ConfigError([f"{picture} is the configuration file; name another file for the picture"])
        if picture is not None and (reason := why_no_plots()):
            raise ConfigError([f"{picture}: {reason}"])
    if compare and not requests:
        raise ConfigError(["--compare: needs answers to compare; --requests must be 1 or more"])
    seen = asyncio.run(survey(loaded, os.environ, requests=requests, handshakes=requests if compare else 1))
    compared = comparison.compare(seen.configured) if compare else None
    if as_json:
        write_json(seen.to_json(compared))
    elif compared is not None:
        comparison.show_comparison(compared, terminal())
    else:
        show(seen, endpoint_source(loaded), config, terminal())
    if svg is not None:
        draw(seen.configured, svg, "svg")
    if png is not None:
        draw(seen.configured, png, "png")


@endpoints.command(name="add")
def add_endpoint(  # noqa: PLR0917 - each is an option of the command
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of the endpoint, or of a server on localhost.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Its address; default: a server found on localhost.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Its model; default: the only one of the server.")
    ] = None,
    api_key_env: Annotated[str, typer.Option(metavar="VARIABLE", help="Environment variable that holds its key.")] = "",
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Its protocol; default: OpenAI's (docs/endpoints.md).")
    ] = None,
    more: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Another key of its table; may be repeated.")
    ] = None,
    config: Config = None,
) -> None:
    """Add an endpoint to your configuration, or to the file of --config."""
    from assistant.commands.llm_endpoints.editing import save_endpoint
    from assistant.commands.llm_endpoints.new_endpoint import NewEndpoint, parse_kind, parse_settings

    protocol = parse_kind(kind)
    request = NewEndpoint(name, url, model, api_key_env, protocol, parse_settings(more or [], protocol))
    asyncio.run(save_endpoint(request, config, os.environ, terminal()))


@endpoints.command(name="remove")
def remove_endpoint(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The endpoint's name.")], config: Config = None
) -> None:
    """Remove an endpoint from your configuration, or from the file of --config."""
    from assistant.commands.llm_endpoints.editing import remove

    remove(name, config, os.environ, terminal())
