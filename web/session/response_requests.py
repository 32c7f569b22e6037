"""Makes the responses that a client requests, in the conversation and outside of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assistant.events import ReplySent, ReplyStopped
from assistant.history.history import History
from assistant.history.items import FunctionCallItem, FunctionOutput, Item
from assistant.pipeline.out_of_band import MAX_ANSWERS, OUT_OF_BAND_TURN, OutOfBandEvent, OutOfBandListener
from assistant.pipeline.session import Session
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.session.client_settings import response_options
from web.session.mcp_session import McpSession
from web.wire.incoming.commands import CancelResponse, CreateResponse, ResponseOptions
from web.wire.items.response_input import InputItem, ItemReference
from web.wire.realtime import Realtime
from web.wire.values.errors import Refusal

OnEnd = Callable[[ReplySent | ReplyStopped], None]
"""Is told how an out-of-band response has ended, and what it cost."""


@dataclass(frozen=True, slots=True)
class OutOfBand:
    """Runs the out-of-band responses of one client.

    Attributes:
        session: Returns the session.
        realtime: The client's protocol state.
        changed: Called when there are messages to send.
        on_end: Counts what was spent.
    """

    session: Callable[[], Session]
    realtime: Realtime
    changed: Callable[[], None]
    on_end: OnEnd

    def create(self, command: CreateResponse, context: tuple[Item, ...] | None) -> None:
        """Begins the response, or refuses it if there are too many. `context`: see `context_of`."""
        session = self.session()
        answers, history = session.out_of_band, session.history
        if answers.full:
            self.realtime.refuse(command, "too_many_responses", count=MAX_ANSWERS)
            return
        options = response_options(session.reply_options, command.options, context)
        listener = OutOfBandListener(self._on_event, self._on_audio, history.reserve)
        reply_id = answers.begin(options.messages(history), options, listener)
        self.realtime.out_of_band.begin(reply_id, history.reserve(), command.options, self.realtime.config)

    def cancel(self, command: CancelResponse) -> bool:
        """Cancels the response, if the command names one outside of the conversation. Returns whether it does."""
        if command.reply_id is None or command.reply_id.turn != OUT_OF_BAND_TURN:
            return False
        if not self.session().out_of_band.cancel(command.reply_id):
            self.realtime.refuse(command, "response_cancel_not_active")
        return True

    def on_disconnect(self) -> None:
        """Cancels all responses: their client is gone."""
        self.session().out_of_band.stop()
        self.realtime.out_of_band.forget()

    def _on_event(self, event: OutOfBandEvent) -> None:
        self.realtime.out_of_band.on_event(event)
        if isinstance(event, ReplySent | ReplyStopped):
            self.on_end(event)
        self.changed()

    def _on_audio(self, reply_id: ReplyId, pcm: Pcm) -> None:
        self.realtime.out_of_band.send_audio(reply_id, pcm)
        self.changed()


@dataclass(slots=True)
class ResponseRequests:
    """Checks the requests of one client. Each waits for what it needs: transcripts of recordings, lists of tools.

    Attributes:
        realtime: The client's protocol state.
        session: Returns the session.
        mcp: The client's MCP servers.
        recordings_pending: Whether recordings of the client wait for their transcripts.
        in_progress: Returns the reply that is generated, if any.
        out_of_band: The responses outside of the conversation.
    """

    realtime: Realtime
    session: Callable[[], Session]
    mcp: McpSession
    recordings_pending: Callable[[], bool]
    in_progress: Callable[[], ReplyId | None]
    out_of_band: OutOfBand
    _waiting: list[CreateResponse] = field(default_factory=list)

    @property
    def pending(self) -> bool:
        """Whether a response in the conversation is requested and has not begun."""
        waits = self.mcp.waits or any(not command.options.out_of_band for command in self._waiting)
        return waits or self.session().reply_request_pending

    def create(self, command: CreateResponse) -> None:
        """Begins the response, lets it wait, or refuses it."""
        request_options = command.options
        try:
            context = context_of(request_options.input, self.session().history)
        except InputError as error:
            self.realtime.refuse(command, error.refusal, **error.about)
            return
        if not request_options.out_of_band:
            self.session().stop_ring()  # it has no end for which a client could wait
        begun = self.in_progress()
        if not request_options.out_of_band and (begun is not None or self.pending):
            active = "requested" if begun is None else self.realtime.response_id(begun)
            self.realtime.refuse(command, "conversation_already_has_active_response", response_id=active)
        elif self.recordings_pending():
            self._wait(command)
        elif request_options.out_of_band:
            self.out_of_band.create(command, context)
        elif not self.mcp.list_first(
            request_options.mcp_servers or (), lambda: self._request(request_options, context)
        ):
            self._request(request_options, context)

    def on_transcribed(self) -> None:
        """Begins the responses that waited for transcripts, if all are there."""
        if not self.recordings_pending():
            waiting, self._waiting = self._waiting, []
            for command in waiting:
                self.create(command)

    def on_disconnect(self) -> None:
        """Cancels the responses outside of the conversation, running or waiting: their client is gone."""
        self._waiting = [command for command in self._waiting if not command.options.out_of_band]
        self.out_of_band.on_disconnect()

    def drop(self) -> None:
        """Drops the requested response in the conversation that has not begun."""
        self._waiting = [command for command in self._waiting if command.options.out_of_band]
        self.mcp.waits = False
        self.realtime.request_dropped()

    def _wait(self, command: CreateResponse) -> None:
        if len(self._waiting) > MAX_ANSWERS:
            self.realtime.refuse(command, "too_many_responses", count=MAX_ANSWERS)
        else:
            self._waiting.append(command)

    def _request(self, request_options: ResponseOptions, context: tuple[Item, ...] | None) -> None:
        session = self.session()
        options = response_options(session.reply_options, request_options, context)
        session.request_reply(self.mcp.for_response(options, request_options), after_reply=True)


class InputError(Exception):
    """The input of a response does not fit the conversation.

    Attributes:
        refusal: Why.
        about: Values for its message.
    """

    def __init__(self, refusal: Refusal, **about: object) -> None:
        super().__init__(refusal)
        self.refusal = refusal
        self.about = about


def context_of(given: Sequence[InputItem] | None, history: History) -> tuple[Item, ...] | None:
    """Returns the items that the model sees instead of the history, references resolved; None: it sees the history.

    Raises InputError.
    """
    if given is None:
        return None
    items: list[Item] = []
    called = {item.call_id for item in (*history.items, *given) if isinstance(item, FunctionCallItem)}
    for index, given_item in enumerate(given):
        item = history.find(given_item.item_id) if isinstance(given_item, ItemReference) else given_item
        if item is None and isinstance(given_item, ItemReference):
            raise InputError("response_input_invalid_item_id", item_id=given_item.item_id, index=index)
        if isinstance(item, FunctionOutput) and item.call_id not in called:
            raise InputError("response_input_invalid_tool_call_id", call_id=item.call_id, index=index)
        if item is not None:
            items.append(item)
    return tuple(items)
