"""Chooses what a reply is made from: a known text, the language model, or the language model with tools."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from functools import partial

from assistant.events import FunctionCalled
from assistant.history.history import History
from assistant.history.prompt_limits import refused_reply
from assistant.history.untrusted_results import sources_of
from assistant.history.written_reply import WrittenReply
from assistant.pipeline.delegated_calls import DelegatedCalls
from assistant.pipeline.engines import ReplyOptions
from assistant.pipeline.markup_output import MarkupOutput
from assistant.pipeline.mcp_calls import McpCalls
from assistant.pipeline.reply_production import ReplyProduction
from assistant.pipeline.session_context import SessionContext
from assistant.text.chunker import Chunker
from assistant.text.failure_sentences import failure_sentence
from assistant.text.markup.notes import block_notes
from assistant.tools.rounds import ApprovalNeeded, Delivery, NoTools, ReplyEvent, ToolRounds, without_made_up
from assistant.turns.effects import PrepareReply
from assistant.turns.events import ReplyId
from llm.chat import AnsweringEndpoint, ChatEvent, Finished, Message, Token

RECOGNIZER_FAILED = "Sorry, I could not hear that. My speech recognition stopped, and I am restarting it."
RECOGNIZER_LATE = "Sorry, I could not hear that: other programs keep this machine busy."
RECOGNIZER_BUSY = "Sorry, too many people are talking to me at once. Please ask me again in a moment."
UNRECOGNIZED = "Sorry, I heard you, but I understood no word. Please say it again."
GUESSED = "I may have misheard you."


@dataclass(frozen=True, slots=True)
class ReplySource:
    """Gives a reply its events, and reports its calls.

    Attributes:
        context: What it shares with the rest of the session.
        history: The history.
        on_tool_wait: Called repeatedly during calls with the time in s since they began.
        delegated: The calls in the background.
    """

    context: SessionContext
    history: History
    on_tool_wait: Callable[[ReplyProduction, float], None]
    delegated: DelegatedCalls
    _deliveries: dict[ReplyId, tuple[Delivery, ...]] = field(default_factory=dict)  # of replies not yet committed

    def messages(self, effect: PrepareReply, options: ReplyOptions, language: str = "") -> tuple[Message, ...]:
        """Returns the messages that the reply answers, the last one in `language`; none if its text is known."""
        if effect.without_words or effect.text_is_reply:
            return ()
        continues, turn = effect.new_text != effect.text, effect.reply_id.turn
        return options.messages(self.history, effect.new_text, continues=continues, turn=turn, language=language)

    def events(
        self, effect: PrepareReply, reply_options: ReplyOptions, production: ReplyProduction
    ) -> AsyncGenerator[ReplyEvent]:
        """Returns the events of the reply. Where markup is shown, the reply also reports its text."""
        notes = block_notes(production.language, shown=reply_options.markup)
        production.new_chunker = partial(Chunker, notes=notes)
        if not (reply_options.markup and reply_options.spoken):
            return self._events(effect, reply_options, production)
        production.spoken_transcript.written = written = WrittenReply(notes)
        output = MarkupOutput(production.reply_id, production.on_event, written)
        production.on_event, production.show_paragraph = output.forward, output.add_paragraph
        return output.reading(self._events(effect, reply_options, production))

    def _events(
        self, effect: PrepareReply, reply_options: ReplyOptions, production: ReplyProduction
    ) -> AsyncGenerator[ReplyEvent]:
        if effect.without_words:
            busy_machine = self.context.recorder.busy_machine
            failed = RECOGNIZER_FAILED if busy_machine is None or busy_machine.load() is None else RECOGNIZER_LATE
            failed = RECOGNIZER_BUSY if self.context.recognizer_is_busy else failed
            sentence = failed if effect.transcript_lost else UNRECOGNIZED
            return literal_reply(failure_sentence(sentence, production.language), by="apology")
        if production.ring is not None:
            return production.ring.events()
        if effect.text_is_reply:
            return literal_reply(effect.text, by="itself")
        if (excess := self.history.excess(effect.new_text)) is not None:
            return refused_reply(excess)
        engines, messages = self.context.engines, production.messages
        written = production.spoken_transcript.written
        options = replace(reply_options.options, traceparent=self.context.recorder.traceparent(effect.reply_id))
        client = self._client_calls(production, reply_options)
        user_text = messages[-1].content if messages and messages[-1].role == "user" else ""  # spoken or typed
        deliveries = self.delegated.for_reply(user_text, messages, engines.is_known_sentence)
        if deliveries:
            self._deliveries[production.reply_id] = deliveries
        if engines.tools is None and client is None and not sources_of(messages):
            return without_made_up(engines.model.stream(messages, options), options.functions)
        return ToolRounds(
            engines.model,
            messages,
            options,
            engines.tools or NoTools(),
            self.context.settings.tools,
            production.gate,
            written=lambda: production.answer_text if written is None else written.text,
            remember=lambda used: self.history.add_tool_call(production.reply_id, used),
            waiting=lambda waited_s: self.on_tool_wait(production, waited_s),
            client=client,
            delegate=self.delegated.start,
            deliveries=deliveries,
        ).stream()

    def tells_results(self, reply_id: ReplyId) -> bool:
        """Returns whether a reply that is not committed yet tells results, so that no skill answers."""
        return reply_id in self._deliveries

    def committed(self, reply_id: ReplyId) -> None:
        """Adds the results that this reply tells to the history, before anything else of the reply."""
        deliveries = self._deliveries.pop(reply_id, ())
        for delivery in deliveries:
            self.history.add_tool_call(reply_id, delivery.use)
        self.delegated.delivered(deliveries)
        self._deliveries.clear()  # those of other attempts are told by no reply

    def report_calls(self, production: ReplyProduction, options: ReplyOptions) -> None:
        """Reports the calls that the client has to make or to approve."""
        for call in production.calls:
            if isinstance(call, ApprovalNeeded):
                calls = self._client_calls(production, options)
                assert calls is not None
                calls.request_approval(call.call)
            else:
                self.context.on_event(FunctionCalled(production.reply_id, self.history.add_function_call(call)))

    def _client_calls(self, production: ReplyProduction, options: ReplyOptions) -> McpCalls | None:
        tools, limits = options.client_tools, self.context.settings.tools
        if tools is None or not tools.offered:
            return None
        return McpCalls(tools, self.history, self.context.on_event, limits, production.reply_id)


async def literal_reply(text: str, by: str) -> AsyncGenerator[ChatEvent]:
    """Yields a reply whose text is known, such as a greeting or an apology."""
    yield AnsweringEndpoint(by)
    yield Token(text)
    yield Finished("stop")
