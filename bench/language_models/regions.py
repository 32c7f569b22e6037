"""Measures what network distance costs a turn: the same model in an edge zone, the next region and a distant one.

    python -m bench.language_models.regions [--requests 40] [--svg docs/endpoints-regions.svg]

The services are `bench.controlled_llm` on loopback with simulated network delays. They are asked as `repartee
endpoints` asks. Round trips, speeds and prices are made up (`PLACES`); their effect is measured. Prints one table.
"""

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from assistant.commands.llm_endpoints.picture import draw
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.endpoint_probe.figures import EndpointMeasurement
from assistant.endpoint_probe.probe import QUESTION, measure_endpoint
from bench.controlled_llm import LlmBehaviour
from bench.language_models.failover import served
from llm.chat import Token
from llm.openai.chat import OpenAIChat

COLD_REQUESTS = 3
SETUP_ROUND_TRIPS = 2
"""Round trips to open a connection before the request: TCP and TLS 1.3."""

SETTLE_S = 0.05
"""Time in seconds for the services to notice that their clients have disconnected."""


@dataclass(frozen=True, slots=True)
class Place:
    """A location of the model.

    Attributes:
        round_trip_ms: Round trip to the user's machine.
        price_in, price_out: Price of a million tokens.
    """

    name: str
    region: str
    round_trip_ms: float
    price_in: float
    price_out: float

    @property
    def behaviour(self) -> LlmBehaviour:
        """Returns the settings of the service at this location. The model is the same everywhere."""
        reply = "One, two, three, four, five, six, seven, eight, nine, ten."
        setup_ms = SETUP_ROUND_TRIPS * self.round_trip_ms
        return LlmBehaviour(120.0, 60.0, reply, connect_ms=setup_ms, rtt_ms=self.round_trip_ms)


PLACES = (
    Place("edge", "edge zone, same city", 6.0, 0.36, 1.08),
    Place("near", "region, 1500 km", 38.0, 0.30, 0.90),
    Place("far", "region, 9000 km", 145.0, 0.30, 0.90),
)


@dataclass(frozen=True, slots=True)
class PlaceFigures:
    """Results of one location.

    Attributes:
        figures: Figures on a warm connection.
        cold_ms: Median time to the first token if the connection is opened for the question.
    """

    figures: EndpointMeasurement
    cold_ms: float


async def compare(requests: int, places: Sequence[Place] = PLACES) -> list[PlaceFigures]:
    """Asks each location in sequence, so that they do not disturb each other."""
    asked = []
    async with served([place.behaviour for place in places]) as servers:
        for place, server in zip(places, servers, strict=True):
            endpoint = EndpointSection(
                name=place.name,
                region=place.region,
                url=server.url,
                model="controlled",
                price_in_per_million=place.price_in,
                price_out_per_million=place.price_out,
            )
            figures = await measure_endpoint(endpoint, Settings(), {}, requests=requests)
            cold = sorted([await _cold_ms(server.url) for _ in range(COLD_REQUESTS)])
            asked.append(PlaceFigures(figures, cold[len(cold) // 2]))
    await asyncio.sleep(SETTLE_S)
    return asked


async def _cold_ms(url: str) -> float:
    """Returns the time from question to first token for a client without an open connection."""
    loop = asyncio.get_running_loop()
    model = OpenAIChat("cold", url, "controlled")
    began_s, first_s = loop.time(), None
    try:
        async with aclosing(model.stream(QUESTION)) as events:
            async for event in events:
                if isinstance(event, Token) and first_s is None:
                    first_s = loop.time()
    finally:
        await model.aclose()
    assert first_s is not None
    return (first_s - began_s) * 1000


def table(asked: Sequence[PlaceFigures]) -> str:
    """Returns the table in Markdown."""
    lines = [
        "| endpoint | where | round trip ms | first token ms, p50 | p95 | connection not warm | tokens per s "
        "| 1000 turns cost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in asked:
        figures = each.figures
        cells = (
            figures.endpoint.name,
            figures.endpoint.region,
            f"{figures.round_trip_ms:.0f}",
            f"{figures.first_token_ms(50):.0f}",
            f"{figures.first_token_ms(95):.0f}",
            f"{each.cold_ms:.0f}",
            f"{figures.tokens_per_s:.0f}",
            f"{figures.turns_price:.2f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the table and draws the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    asked = asyncio.run(compare(options.requests))
    print(table(asked))
    if options.svg is not None:
        draw([each.figures for each in asked], options.svg, "svg")


if __name__ == "__main__":
    main()
