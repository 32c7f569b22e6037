"""The same model in an edge zone, in the region next to it and in one far away: what the distance costs a turn.

    python -m bench.regions [--requests 40] [--svg docs/endpoints-regions.svg]

The services are `bench.controlled_llm` on loopback with delays for the way; they are asked as `repartee endpoints`
asks. Round trips, speeds and prices are made up (`PLACES`); what is measured is what they come to. Prints one table.
"""

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from assistant.commands.llm_endpoints.figures import EndpointMeasurement
from assistant.commands.llm_endpoints.picture import draw
from assistant.commands.llm_endpoints.probe import QUESTION, measure_endpoint
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from bench.controlled_llm import Manner
from bench.failover import served
from llm.chat import Token
from llm.openai import OpenAIChat

COLD_REQUESTS = 3
SETUP_ROUND_TRIPS = 2
"""Of a new connection, before the request: TCP and TLS 1.3."""

SETTLE_S = 0.05
"""In which the services notice that their clients have gone."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the model runs.

    Attributes:
        round_trip_ms: From the person's machine and back.
        price_in, price_out: Of a million tokens.
    """

    name: str
    region: str
    round_trip_ms: float
    price_in: float
    price_out: float

    @property
    def manner(self) -> Manner:
        """Of the service that stands there: the same model everywhere."""
        reply = "One, two, three, four, five, six, seven, eight, nine, ten."
        setup_ms = SETUP_ROUND_TRIPS * self.round_trip_ms
        return Manner(120.0, 60.0, reply, connect_ms=setup_ms, rtt_ms=self.round_trip_ms)


PLACES = (
    Place("edge", "edge zone, same city", 6.0, 0.36, 1.08),
    Place("near", "region, 1500 km", 38.0, 0.30, 0.90),
    Place("far", "region, 9000 km", 145.0, 0.30, 0.90),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One place, measured.

    Attributes:
        figures: On a warm connection.
        cold_ms: To the first token where the connection was opened for the question; the median.
    """

    figures: EndpointMeasurement
    cold_ms: float


async def compare(requests: int, places: Sequence[Place] = PLACES) -> list[Asked]:
    """Ask each place, one after the other: they shall not disturb each other."""
    asked = []
    async with served([place.manner for place in places]) as servers:
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
            asked.append(Asked(figures, cold[len(cold) // 2]))
    await asyncio.sleep(SETTLE_S)
    return asked


async def _cold_ms(url: str) -> float:
    """From the question to the first token, on a client that has no connection yet."""
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


def table(asked: Sequence[Asked]) -> str:
    """In Markdown."""
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
    """Print the table, and draw."""
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
