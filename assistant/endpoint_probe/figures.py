"""Figures derived from the answers of an endpoint: times, speed, price. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assistant.config.endpoint_settings import EndpointSection
from assistant.endpoint_probe.handshake import Handshake
from assistant.trace.waterfall import nearest_rank

PROMPT_TOKENS = 600
ANSWER_TOKENS = 40
"""Tokens of a typical turn, for its price: instructions and some history, and an answer of two sentences."""

PRICED_TURNS = 1000

GIVEN_UP_AFTER_MS = 2000.0
"""Milliseconds after which an endpoint without measured times is given up if another is available:
`UNMEASURED_PATIENCE_S`."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """One short answer.

    Attributes:
        first_token_ms: From the question, on a warm connection, to the first token.
        round_trip_ms: Network round trip included in it, if known.
        tokens: The service's count, else the number of pieces.
        after_first_ms: From the first token to the last.
    """

    first_token_ms: float
    round_trip_ms: float | None
    tokens: int
    after_first_ms: float


@dataclass(frozen=True, slots=True)
class EndpointMeasurement:
    """Measurement of a configured endpoint.

    Attributes:
        endpoint: As configured.
        state: In a few words.
        problem: The problem and the remedy; empty if there is none.
        address: Address that was asked; empty if unknown.
        handshake: Times of a separate connection.
        answers: The answers received; empty if none were requested.
        connects_ms: TCP handshakes of new connections; empty behind a proxy.
    """

    endpoint: EndpointSection
    state: str
    problem: str = ""
    address: str = ""
    handshake: Handshake | None = None
    answers: tuple[ProbeAnswer, ...] = ()
    connects_ms: tuple[float, ...] = ()

    @property
    def shown_address(self) -> str:
        """Address for display, without its query string, which may contain a key."""
        return (self.address or self.endpoint.url).partition("?")[0]

    @property
    def round_trip_ms(self) -> float | None:
        """Least round trip of the answers, else of the connection. Behind a proxy only the answers count."""
        known = [answer.round_trip_ms for answer in self.answers if answer.round_trip_ms is not None]
        if not known and self.handshake is not None and self.handshake.connect_ms is not None:
            known = [self.handshake.connect_ms]
        return min(known, default=None)

    @property
    def tokens_per_s(self) -> float | None:
        """Median rate after the first token; None if the answers are too short."""
        rates = [
            (answer.tokens - 1) / (answer.after_first_ms / 1000)
            for answer in self.answers
            if answer.tokens > 1 and answer.after_first_ms > 0
        ]
        return median(rates) if rates else None

    @property
    def turns_price(self) -> float | None:
        """Price of PRICED_TURNS in the currency of the configured prices; None without prices."""
        endpoint = self.endpoint
        if not (endpoint.price_in_per_million or endpoint.price_out_per_million):
            return None
        paid = PROMPT_TOKENS * endpoint.price_in_per_million + ANSWER_TOKENS * endpoint.price_out_per_million
        return PRICED_TURNS * paid / 1_000_000

    def first_token_ms(self, percent: float) -> float | None:
        """Percentile by nearest rank; the 95th of fewer than twenty answers is the maximum. None without answers."""
        waits = [answer.first_token_ms for answer in self.answers]
        return nearest_rank(waits, percent) if waits else None


def given_up(measured: Sequence[EndpointMeasurement]) -> list[EndpointMeasurement]:
    """Returns the endpoints that are given up before they answer, because others are available."""
    answered = fastest_first(measured)
    return [
        each for each in answered if len(answered) > 1 and (each.first_token_ms(50) or 0.0) > given_up_after_ms(each)
    ]


def given_up_after_ms(measured: EndpointMeasurement) -> float:
    """Returns the wait in ms for an endpoint without measured times."""
    return measured.endpoint.patience_s * 1000 or GIVEN_UP_AFTER_MS


def fastest_first(measured: Sequence[EndpointMeasurement]) -> list[EndpointMeasurement]:
    """Returns the endpoints that answered, sorted by their median."""
    answered = [each for each in measured if each.answers]
    return sorted(answered, key=lambda each: each.first_token_ms(50) or 0.0)


def as_fields(measured: EndpointMeasurement) -> Mapping[str, object]:
    """Returns the figures for JSON, rounded to hundredths."""
    endpoint, handshake = measured.endpoint, measured.handshake or Handshake()
    return {
        "name": endpoint.name,
        "kind": endpoint.kind,
        "model": endpoint.model,
        "region": endpoint.region,
        "address": measured.shown_address,
        "state": measured.state,
        "problem": measured.problem,
        "lookup_ms": _rounded(handshake.lookup_ms),
        "connect_ms": _rounded(handshake.connect_ms),
        "tls_ms": _rounded(handshake.tls_ms),
        "proxy": handshake.proxy,
        "round_trip_ms": _rounded(measured.round_trip_ms),
        "first_token_ms": {
            "p50": _rounded(measured.first_token_ms(50)),
            "p95": _rounded(measured.first_token_ms(95)),
            "all": [_rounded(answer.first_token_ms) for answer in measured.answers],
        },
        "tokens_per_s": _rounded(measured.tokens_per_s),
        "price_of_1000_turns": _rounded(measured.turns_price),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
