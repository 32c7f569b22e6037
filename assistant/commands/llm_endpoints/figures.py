"""What the answers of an endpoint come to: times, speed, price. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assistant.commands.llm_endpoints.handshake import Handshake
from assistant.config.endpoint_settings import EndpointSection
from assistant.trace.waterfall import nearest_rank

PROMPT_TOKENS = 600
ANSWER_TOKENS = 40
"""What a turn is taken to be for its price: instructions and some turns of history, and an answer of two sentences."""

PRICED_TURNS = 1000

GIVEN_UP_AFTER_MS = 2000.0
"""An endpoint that never answered is waited for so long where another can be asked: `UNMEASURED_PATIENCE_S`."""


@dataclass(frozen=True, slots=True)
class TestAnswer:
    """One short answer.

    Attributes:
        first_token_ms: From the question, on a warm connection, to the first token.
        round_trip_ms: The network's share of it, where it is known.
        tokens: As the service counts, else its pieces.
        after_first_ms: From the first token to the last.
    """

    first_token_ms: float
    round_trip_ms: float | None
    tokens: int
    after_first_ms: float


@dataclass(frozen=True, slots=True)
class EndpointMeasurement:
    """A configured endpoint, asked.

    Attributes:
        endpoint: As configured.
        state: In a few words.
        problem: What is wrong and what to do; empty if nothing is.
        address: Where it was asked; empty: not known.
        handshake: Of a connection of its own.
        answers: Those that came; none where none was asked for.
    """

    endpoint: EndpointSection
    state: str
    problem: str = ""
    address: str = ""
    handshake: Handshake | None = None
    answers: tuple[TestAnswer, ...] = ()

    @property
    def shown_address(self) -> str:
        """For people: some services take their key as a parameter of the address."""
        return (self.address or self.endpoint.url).partition("?")[0]

    @property
    def round_trip_ms(self) -> float | None:
        """The least that an answer or the connection knew of; behind a proxy, what the answers knew."""
        known = [answer.round_trip_ms for answer in self.answers if answer.round_trip_ms is not None]
        if not known and self.handshake is not None and self.handshake.connect_ms is not None:
            known = [self.handshake.connect_ms]
        return min(known, default=None)

    @property
    def tokens_per_s(self) -> float | None:
        """Of the usual answer, after its first token; None where answers are too short to tell."""
        rates = [
            (answer.tokens - 1) / (answer.after_first_ms / 1000)
            for answer in self.answers
            if answer.tokens > 1 and answer.after_first_ms > 0
        ]
        return median(rates) if rates else None

    @property
    def turns_price(self) -> float | None:
        """Of PRICED_TURNS, in the currency of the configured prices; None where there are none."""
        endpoint = self.endpoint
        if not (endpoint.price_in_per_million or endpoint.price_out_per_million):
            return None
        paid = PROMPT_TOKENS * endpoint.price_in_per_million + ANSWER_TOKENS * endpoint.price_out_per_million
        return PRICED_TURNS * paid / 1_000_000

    def first_token_ms(self, percent: float) -> float | None:
        """By nearest rank: of fewer than twenty answers the 95th percentile is the longest. None without answers."""
        waits = [answer.first_token_ms for answer in self.answers]
        return nearest_rank(waits, percent) if waits else None


def given_up(measured: Sequence[EndpointMeasurement]) -> list[EndpointMeasurement]:
    """Those that are never asked for long enough to answer, as others can be asked in their place."""
    answered = quickest_first(measured)
    return [
        each for each in answered if len(answered) > 1 and (each.first_token_ms(50) or 0.0) > given_up_after_ms(each)
    ]


def given_up_after_ms(measured: EndpointMeasurement) -> float:
    """How long it is waited for where it never answered."""
    return measured.endpoint.patience_s * 1000 or GIVEN_UP_AFTER_MS


def quickest_first(measured: Sequence[EndpointMeasurement]) -> list[EndpointMeasurement]:
    """Those that answered, by their median."""
    answered = [each for each in measured if each.answers]
    return sorted(answered, key=lambda each: each.first_token_ms(50) or 0.0)


def as_fields(measured: EndpointMeasurement) -> Mapping[str, object]:
    """For programs; milliseconds to a hundredth."""
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
