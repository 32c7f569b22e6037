"""The engines of a conversation, its settings, and the options of its replies."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assistant.end_of_turn.dictation.dictation_rules import DictationRules
from assistant.end_of_turn.estimator import EndOfTurnEstimator
from assistant.history.history import History
from assistant.history.items import Item
from assistant.pipeline.change_gate import ChangeGate
from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel
from assistant.pipeline.listening_sounds import ListeningSound
from assistant.skills.effects import SkillEffects
from assistant.tools import Tools, ToolSettings
from assistant.tools.client_mcp import ClientTools
from audio.stt import Recognizer
from audio.tts import Voice
from audio.vad import Vad
from llm.chat import PLAIN, ChatModel, ChatOptions, Message

if TYPE_CHECKING:
    from assistant.pipeline.speakers.voice_watch import EmbeddingSource


@dataclass(frozen=True, slots=True)
class LanguageParts:
    """Parts of a reply that depend on its language, for one of the languages of a conversation.

    Attributes:
        voice: Speaks the language; None: the conversation's own voice.
        normalize_text: Converts written to spoken text.
        settings: The settings of the conversation while the user speaks this language.
        lacks_voice: Why the conversation's own voice speaks, as a sentence; "" if there is a voice of the language.
    """

    voice: Voice | None
    normalize_text: Callable[[str], str]
    settings: "SessionSettings"
    lacks_voice: str = ""


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of one conversation. The code that built them closes them.

    Attributes:
        vad: Voice activity detector.
        spare_vad: Replaces `vad`, with a notice, if that fails.
        recognizer: Speech-to-text engine.
        model: LLM, or a router over several LLM endpoints.
        voice: Text-to-speech engine.
        skill_effects: Side effects of replies, such as timers and volume.
        normalize_text: Converts written to spoken text: "12 km" to "twelve kilometers".
        end_of_turn: Estimates the EOT probability; None: silence alone ends a turn.
        audio_end_of_turn: Smart Turn; None where it is not available.
        is_known_sentence: Whether a whole sentence is understood by a skill, even if the LLM answers it.
        warm_connections: Opens the LLM's connections or keeps them open; None where it has none.
        tools: Tools that the LLM may call; None: only a client's functions.
        listening_sound: The voice's "mhm" for pauses of the user; None: there is none.
        on_answer_heard: Receives the messages of each LLM request whose answer was heard to its end.
        summarizer: The language model that summarizes old turns; None: they are dropped when there are too many.
        direct_model: The language model without skills and answer cache, for out-of-band responses; None: `model`.
        background_voice: Held while a chunk of an out-of-band response is synthesized. Conversations with the same
            voice share it, so that at most one such chunk is before the first chunk of a reply.
        speaker_embedder: Computes whose voice speech is; None: nobody asks, or it is not available.
        languages: The parts by language, where the conversation follows the user's language; empty: it has one.
        change: Closed while other engines are loaded, which will answer what is asked meanwhile.
    """

    vad: Vad
    spare_vad: Vad
    recognizer: Recognizer
    model: ChatModel
    voice: Voice
    skill_effects: SkillEffects
    normalize_text: Callable[[str], str] = str
    end_of_turn: EndOfTurnEstimator | None = None
    audio_end_of_turn: AudioEndOfTurnModel | None = None
    is_known_sentence: Callable[[str], bool] = lambda _text: False
    warm_connections: Callable[[], Awaitable[None]] | None = None
    tools: Tools | None = None
    listening_sound: ListeningSound | None = None
    on_answer_heard: Callable[[Sequence[Message]], None] = lambda _messages: None
    summarizer: ChatModel | None = None
    direct_model: ChatModel | None = None
    background_voice: asyncio.Lock = field(default_factory=asyncio.Lock)
    speaker_embedder: "EmbeddingSource | None" = None
    languages: Mapping[str, LanguageParts] = field(default_factory=dict)
    change: ChangeGate = field(default_factory=ChangeGate)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Time limits and settings of one conversation.

    Attributes:
        stt_timeout_s: Longest wait for a transcript of a recognizer that does not watch itself.
        voice_timeout_s: Longest wait for the next audio chunk of a voice that does not watch itself.
        greeting: Spoken at the beginning; "" for none.
        knows_grammar: Whether the EOT estimator knows the grammar of the conversation's language.
        tools: Time limits of tool calls.
        fallback_notice: Spoken once when the model on this machine answers because no other endpoint can.
        language_hint: Returns the notice that speech may be in another language, given `Transcript.other_language`.
        dictation_rules: Say what the user dictates, in the conversation's language and region.
        language: The conversation's language.
        in_call: Whether the user only hears, as in a telephone call.
    """

    stt_timeout_s: float = 3.0
    voice_timeout_s: float = 3.0
    greeting: str = ""
    knows_grammar: bool = True
    tools: ToolSettings = field(default_factory=ToolSettings)
    fallback_notice: str = ""
    language_hint: Callable[[str], str] | None = None
    dictation_rules: DictationRules = field(default_factory=DictationRules)
    language: str = "en"
    in_call: bool = False


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """Options of replies. A client may change them at any time, or for one reply.

    Attributes:
        spoken: Whether replies are synthesized; else they are sent as text only.
        speed: Speed of the voice; 1 is its own.
        options: Options of the LLM request.
        instructions: Instructions of this reply, instead of the conversation's; None: the conversation's.
        context: Items that the LLM sees instead of the history; None: the history.
        answers_speech: Whether speech is answered without a request: its words then follow the context.
        client_tools: Tools of MCP servers that the client has named; None: there are none.
        markup: Whether the text of spoken replies is also reported as the model wrote it.
    """

    spoken: bool = True
    speed: float = 1.0
    options: ChatOptions = PLAIN
    instructions: str | None = None
    context: tuple[Item, ...] | None = None
    answers_speech: bool = True
    client_tools: ClientTools | None = None
    markup: bool = False

    def messages(
        self,
        history: History,
        user_text: str = "",
        *,
        continues: bool = False,
        turn: int | None = None,
        language: str = "",
    ) -> tuple[Message, ...]:
        """Returns the LLM messages for a reply to `user_text`; see `History.messages`."""
        if self.context is not None and not self.answers_speech:
            user_text = ""
        return history.messages(
            user_text,
            continues=continues,
            instructions=self.instructions,
            context=self.context,
            turn=turn,
            language=language,
        )
