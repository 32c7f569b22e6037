"""Prepares the responses that a client requests, and runs those outside of the conversation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.events import ReplySent, ReplyStopped
from assistant.history.history import History
from assistant.history.items import FunctionCallItem, FunctionOutput, Item
from assistant.pipeline.out_of_band import MAX_ANSWERS, OUT_OF_BAND_TURN, OutOfBandEvent, OutOfBandListener
from assistant.pipeline.session import Session
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.client_settings import response_options
from web.wire.commands import CancelResponse, CreateResponse
from web.wire.errors import Refusal
from web.wire.realtime import Realtime
from web.wire.response_input import InputItem, ItemReference

OnEnd = Callable[[ReplySent | ReplyStopped], None]
"""Is told how an out-of-band response has ended, and what it cost."""


@dataclass(frozen=True, slots=True)
class OutOfBand:
    """Runs the out-of-band responses of one client.

    Attributes:
        changed: Called when there are messages to send.
        on_end: Counts what was spent.
    """

    session: Session
    realtime: Realtime
    changed: Callable[[], None]
    on_end: OnEnd

    def create(self, command: CreateResponse, context: tuple[Item, ...] | None) -> None:
        """Begins the response, or refuses it if there are too many. `context`: see `context_of`."""
        answers, history = self.session.out_of_band, self.session.history
        if answers.full:
            self.realtime.refuse(command, "too_many_responses", count=MAX_ANSWERS)
            return
        options = response_options(self.session.reply_options, command.options, context)
        listener = OutOfBandListener(self._on_event, self._on_audio, history.reserve)
        reply = answers.begin(options.messages(history), options, listener)
        self.realtime.out_of_band.begin(reply, history.reserve(), command.options, self.realtime.config)

    def cancel(self, command: CancelResponse) -> bool:
        """Cancels the response, if the command names one outside of the conversation. Returns whether it does."""
        if command.reply is None or command.reply.turn != OUT_OF_BAND_TURN:
            return False
        if not self.session.out_of_band.cancel(command.reply):
            self.realtime.refuse(command, "response_cancel_not_active")
        return True

    def on_disconnect(self) -> None:
        """Cancels all responses: their client is gone."""
        self.session.out_of_band.stop()
        self.realtime.out_of_band.forget()

    def _on_event(self, event: OutOfBandEvent) -> None:
        self.realtime.out_of_band.on_event(event)
        if isinstance(event, ReplySent | ReplyStopped):
            self.on_end(event)
        self.changed()

    def _on_audio(self, reply: ReplyId, pcm: Pcm) -> None:
        self.realtime.out_of_band.play(reply, pcm)
        self.changed()


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
    for index, one in enumerate(given):
        item = history.find(one.item_id) if isinstance(one, ItemReference) else one
        if item is None and isinstance(one, ItemReference):
            raise InputError("response_input_invalid_item_id", item_id=one.item_id, index=index)
        if isinstance(item, FunctionOutput) and item.call_id not in called:
            raise InputError("response_input_invalid_tool_call_id", call_id=item.call_id, index=index)
        if item is not None:
            items.append(item)
    return tuple(items)
