"""Measures one configured endpoint: its key, its list of models, its connection and some short answers."""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.endpoint_probe.figures import EndpointMeasurement, ProbeAnswer
from assistant.endpoint_probe.handshake import Handshake, measure_handshake
from assistant.endpoint_probe.local_servers import SHOWN_MODELS, shortened
from assistant.setup.answering.llm_clients import address_of, headers_of
from assistant.setup.engine_catalog import chat
from llm.chat import ChatModel, Finished, Message, RequestSent, Token
from llm.discovery import LISTS_ALL, is_listed
from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow
from llm.listing import Listing
from llm.protocols.protocol import ListRequest

ASK_TIMEOUT_S = 3.0
FIRST_TOKEN_TIMEOUT_S = 7.0
"""Seconds. A server that must load its model first takes longer, which is worth reporting."""

MAX_TOKENS = 24
QUESTION = (Message("user", "Count from one to ten in words."),)


async def import_clients(settings: Settings, environ: Mapping[str, str]) -> None:
    """Imports and reads in advance what the clients need, so that it does not add to measured times."""
    for endpoint in settings.llm.endpoints:
        # Its problem is reported when the endpoint is asked.
        with suppress(ValueError):
            model = chat(settings, endpoint, environ, max_tokens=MAX_TOKENS, timeout_s=FIRST_TOKEN_TIMEOUT_S)
            await model.aclose()


async def measure_endpoint(
    endpoint: EndpointSection,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    requests: int,
    handshakes: int = 1,
) -> EndpointMeasurement:
    """Measures one endpoint. Never raises; stops at the first question without an answer.

    `requests`: number of short answers, one after another; 0: none, which costs nothing. `handshakes`: number of new
    connections.
    """
    measurement = await _check_before_question(endpoint, environ, asked=requests > 0)
    if measurement.problem or not (measurement.address or endpoint.is_on_this_machine):
        return measurement
    if measurement.address:
        measurement = await _with_handshakes(measurement, endpoint, handshakes)
    made = measurement.handshake
    if not requests:
        return measurement if made is None or made.proxy or made.connect_ms is not None else _unreachable(measurement)
    answers: list[ProbeAnswer] = []
    try:
        model = chat(settings, endpoint, environ, max_tokens=MAX_TOKENS, timeout_s=FIRST_TOKEN_TIMEOUT_S)
        try:
            await model.load()
            for _ in range(requests):
                # As when a user begins to speak: connections are open before the question, and the round trip is known.
                await model.load()
                answers.append(await _answer(model))
        finally:
            await model.aclose()
    except (LlmError, ValueError) as error:
        state = f"{len(answers)} of {requests} answers" if answers else "no answer"
        return replace(measurement, state=state, problem=str(error), answers=tuple(answers))
    state = measurement.state if endpoint.protocol.list_models is not None else f"answers; {measurement.state}"
    return replace(measurement, state=state, answers=tuple(answers))


async def _with_handshakes(
    measurement: EndpointMeasurement, endpoint: EndpointSection, count: int
) -> EndpointMeasurement:
    """Measures new connections, one after another, until one fails."""
    first: Handshake | None = None
    connects_ms: list[float] = []
    for _ in range(count):
        made = await measure_handshake(
            measurement.address, endpoint.protocol.scheme_of(measurement.address), endpoint.ca_file
        )
        first = first or made
        if made.connect_ms is None:
            break
        connects_ms.append(made.connect_ms)
    return replace(measurement, handshake=first, connects_ms=tuple(connects_ms))


async def _check_before_question(
    endpoint: EndpointSection, environ: Mapping[str, str], *, asked: bool
) -> EndpointMeasurement:
    """Checks the key, the address and, if its kind has one, the list of models. `asked`: whether questions follow."""
    key = environ.get(endpoint.api_key_env) or None
    if endpoint.api_key_env and key is None:
        problem = f"{endpoint.name}: the environment variable {endpoint.api_key_env} is not set; set it to the key"
        return EndpointMeasurement(endpoint, "not asked: no key", problem)
    try:
        address, headers = address_of(endpoint), headers_of(endpoint, environ)
    except ValueError as error:
        return EndpointMeasurement(endpoint, "not asked", str(error))
    if endpoint.is_on_this_machine:
        return EndpointMeasurement(endpoint, "on this machine")
    if endpoint.protocol.list_models is None:
        return EndpointMeasurement(endpoint, f"{endpoint.kind} lists no models", address=address)
    listing = endpoint.protocol.list_models(ListRequest(endpoint.name, endpoint.url, key, ASK_TIMEOUT_S, headers))
    return await _listed(endpoint, address, listing, has_key=key is not None, asked=asked)


async def _listed(
    endpoint: EndpointSection, address: str, listed: Awaitable[Listing], *, has_key: bool, asked: bool
) -> EndpointMeasurement:
    try:
        listing = await listed
    except (LlmError, ValueError) as error:
        # Only the list may fail; the questions decide.
        goes_on = asked and isinstance(error, LlmRefused | LlmBroken | LlmTooSlow)
        state, problem = ("answers, lists no models", "") if goes_on else ("no answer", str(error))
        return EndpointMeasurement(endpoint, state, problem, address)
    answers = f"answers in {listing.round_trip_ms:.0f} ms"
    models = listing.models
    if listing.needs_key:
        remedy = f"correct {endpoint.api_key_env}" if has_key else "set its api_key_env to the variable that holds it"
        problem = f"{endpoint.name}: {'rejects the' if has_key else 'requires a'} key: {remedy}"
        return EndpointMeasurement(endpoint, f"{answers}, refuses the request", problem, address)
    if models is None:
        return EndpointMeasurement(endpoint, f"{answers}, lists no models", address=address)
    if is_listed(endpoint.model, (*models.chat, *models.others)):
        return EndpointMeasurement(endpoint, answers, address=address)
    if models.product not in LISTS_ALL:
        return EndpointMeasurement(endpoint, f"{answers}, does not list this model", address=address)
    there = shortened(models.chat, SHOWN_MODELS) or "no chat model"
    problem = f"{endpoint.name}: the server has {there}; correct its model"
    return EndpointMeasurement(endpoint, f"{answers}, lacks this model", problem, address)


def _unreachable(measurement: EndpointMeasurement) -> EndpointMeasurement:
    name, address = measurement.endpoint.name, measurement.shown_address
    problem = f"{name}: {address} accepts no connection: start the server, or check its url"
    return replace(measurement, state="no connection", problem=problem)


async def _answer(model: ChatModel) -> ProbeAnswer:
    """Asks one question and reads the whole answer, so that the connection can be reused. Raises LlmError."""
    loop = asyncio.get_running_loop()
    asked_s = loop.time()
    first_s = last_s = None
    round_trip_s, pieces, counted = None, 0, None
    async with aclosing(model.stream(QUESTION)) as events:
        async for event in events:
            match event:
                case RequestSent():
                    round_trip_s = event.round_trip_s
                case Token():
                    last_s = loop.time()
                    first_s = last_s if first_s is None else first_s
                    pieces += 1
                case Finished():
                    counted = event.completion_tokens
                case _:
                    pass
    ended_s = loop.time()
    first_s = ended_s if first_s is None else first_s
    return ProbeAnswer(
        (first_s - asked_s) * 1000,
        None if round_trip_s is None else round_trip_s * 1000,
        pieces if counted is None else counted,
        ((last_s or first_s) - first_s) * 1000,
    )
