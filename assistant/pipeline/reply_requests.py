"""Holds the replies that a client or typed text requests, until they begin.

request ─▶ waits while somebody speaks or a reply is active ─▶ `ReplyRequested` ─▶ turn taking
typed text ─▶ waits for a transcript ─▶ history and a request
"""

from collections import deque
from dataclasses import dataclass, field, replace

from assistant.events import SilenceTimedOut
from assistant.history.history import History
from assistant.history.items import UserMessage
from assistant.pipeline.audio_input import AudioInput
from assistant.pipeline.engines import ReplyOptions
from assistant.pipeline.reply_manager import ReplyManager
from assistant.pipeline.session_context import SessionContext
from assistant.turns.effects import IdleTimedOut, PrepareReply
from assistant.turns.events import InputCleared, ReplyRequested
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.units import ms_of_samples

IDLE_PROMPT = (
    "The user has said nothing for a while. In one short sentence, in the language of the conversation, ask whether "
    "they are still there or help them to go on. Do not repeat what you have said."
)
"""Added to the instructions of the reply to a user who has said nothing for the idle timeout."""

MAX_TYPED_MESSAGES = 20
"""Maximum number of typed messages that wait for a transcript. Beyond it the oldest are dropped."""


@dataclass(slots=True)
class ReplyRequests:
    """The requested reply of one conversation, and the typed messages. Not thread-safe: call it on the event loop.

    Attributes:
        context: What it shares with the rest of the session.
        turns: Tells whether somebody speaks or a reply is active.
        history: Takes the typed messages.
        audio_input: Tells whether the speech is addressed to the assistant.
        reply_manager: Plays the current reply to its end before the requested one.
        options: Options of the requested reply until it is committed; None: those of the session.
        is_waiting: The request waits until nobody speaks and no reply is active.
        typed_messages: Typed messages that wait for a transcript.
    """

    context: SessionContext
    turns: TurnTaking
    history: History
    audio_input: AudioInput
    reply_manager: ReplyManager
    options: ReplyOptions | None = None
    is_waiting: bool = False
    typed_messages: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_TYPED_MESSAGES))

    def request(self, options: ReplyOptions | None = None, *, after_reply: bool = False) -> None:
        """Requests a reply to the history. If a transcript is pending, the reply also answers that speech.

        Args:
            options: Options of this reply only; None: those of the session.
            after_reply: False: a reply that is playing is interrupted. True: the request waits until that reply has
                ended. If that reply was sent completely and no user speech overlaps it, the new reply is prepared at
                once and played after it. If the user speaks first, the reply to that speech fulfils the request.
        """
        self.options = options
        turns = self.turns
        if after_reply and not turns.has_overlap and self.reply_manager.play_to_end(turns.replying):
            self.is_waiting = False
            self.context.dispatch(ReplyRequested(self.context.position(), "requested", after_current_reply=True))
            return
        # A request waits for the end of user speech, except where only the client ends turns. It does not wait if a
        # turn that has ended would not be answered: the request is then for that turn.
        busy_phases = (
            {Phase.REPLYING, Phase.AWAITING_TRANSCRIPT}
            if turns.settings.ends_by_client
            else {Phase.REPLYING, Phase.AWAITING_TRANSCRIPT, Phase.USER_SPEAKING}
        )
        self.is_waiting = after_reply and turns.phase in busy_phases and not turns.pending_turn_lacks_reply_request
        if not self.is_waiting:
            self.context.dispatch(ReplyRequested(self.context.position(), "requested"))

    def add_typed_message(self, text: str) -> None:
        """Adds a typed user message, and requests a reply to it."""
        self.typed_messages.append(text)
        self._add_typed_messages()

    def options_of(self, effect: PrepareReply, session_options: ReplyOptions) -> ReplyOptions:
        """Returns the options of a reply that is being prepared."""
        return session_options if effect.text_is_reply else self.options or session_options

    def on_idle_timeout(self, effect: IdleTimedOut, session_options: ReplyOptions) -> None:
        """Reports the idle timeout. The reply that follows it prompts the user."""
        if effect.answered:
            instructions = session_options.instructions
            instructions = self.history.instructions if instructions is None else instructions
            self.options = replace(session_options, instructions=f"{instructions}\n\n{IDLE_PROMPT}".strip())
        item = self.history.add_user_text("")  # the silence, as a message without words
        self.context.on_event(SilenceTimedOut(item, ms_of_samples(effect.heard_at), ms_of_samples(effect.position)))

    def clear(self) -> None:
        """Forgets the request, which was fulfilled or withdrawn."""
        self.is_waiting, self.options = False, None

    def proceed(self) -> None:
        """Starts the request and adds the typed messages, unless they have to wait longer."""
        if self.is_waiting and self.turns.phase is Phase.IDLE:
            self.request(self.options)
        self._add_typed_messages()

    def _add_typed_messages(self) -> None:
        """Adds typed messages to the history: after earlier speech, before speech that is still going on."""
        if not self.typed_messages or self.turns.phase is Phase.AWAITING_TRANSCRIPT:
            return
        if self.turns.phase is Phase.USER_SPEAKING and not self.audio_input.addressed:
            # The speech is not addressed to the assistant. The reply to the typed message would open the wake window,
            # and this speech would then be answered, so it is discarded first.
            self.context.dispatch(InputCleared(self.context.position()))
            return
        while self.typed_messages:
            self.history.insert(UserMessage(self.history.reserve(), self.typed_messages.popleft(), spoken=False))
        self.request()
