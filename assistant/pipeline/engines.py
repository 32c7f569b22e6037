"""What a conversation runs on, and what it is asked to be like."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from assistant.end_of_turn.estimator import EndOfTurnEstimator
from assistant.pipeline.end_of_turn_judge import AudioEndOfTurnModel
from assistant.skills.effects import SkillEffects
from assistant.tools import Tools, ToolSettings
from audio.stt import Recognizer
from audio.tts import Voice
from audio.vad import Vad
from llm.chat import PLAIN, ChatModel, ChatOptions


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine in use, for the screen.

    Attributes:
        stage: "vad", "turn", "stt", "llm", "tools" or "tts".
        name: The engine.
        detail: One line about it.
        why: Why this one: asked for, or in place of what.
        fallback: Whether it runs in place of something else.
        load_ms: How long it took to load and warm.
    """

    stage: str
    name: str
    detail: str
    why: str
    fallback: bool
    load_ms: float


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of one conversation; owned by whoever built them.

    Attributes:
        spare_vad: Takes over, and says so, if `vad` fails.
        deeds: What answers do besides being spoken.
        turn_end: Judges whether a turn is over; None: nobody does.
        listener: Smart Turn, for the judge; None where it is not at hand.
        understands: Whether words are, whole, a sentence that a skill understands, whoever answers it.
        warm: Opens the model's connections, or keeps them open; None: it has none.
        say: From what is written to the words to be spoken: "12 km" is "twelve kilometers".
        tools: What the model may call; None: nothing but a client's functions.
    """

    vad: Vad
    spare_vad: Vad
    recognizer: Recognizer
    model: ChatModel
    voice: Voice
    skill_effects: SkillEffects
    say: Callable[[str], str] = str
    end_of_turn: EndOfTurnEstimator | None = None
    audio_end_of_turn: AudioEndOfTurnModel | None = None
    understands: Callable[[str], bool] = lambda _text: False
    warm: Callable[[], Awaitable[None]] | None = None
    tools: Tools | None = None


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Deadlines of the stages.

    Attributes:
        greeting: Said at the beginning; "" for none.
        reads: The conversation's language is one whose grammar the estimate of turn ends knows.
        tools: How long tools may take.
        language_hint: What to say where speech may be in another language: a sentence, by `Transcript.other_language`.
    """

    stt_timeout_s: float = 3.0
    voice_timeout_s: float = 3.0
    greeting: str = ""
    reads: bool = True
    tools: ToolSettings = field(default_factory=ToolSettings)
    language_hint: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What replies are to be like; a client may change it at any time, or for one reply.

    Attributes:
        spoken: Replies are made into sound; else they come as text only.
        speed: How fast to speak; 1 is the voice's own pace.
        options: What the model is asked for besides an answer.
        instructions: For this reply, in place of the conversation's; None: those.
    """

    spoken: bool = True
    speed: float = 1.0
    options: ChatOptions = PLAIN
    instructions: str | None = None
