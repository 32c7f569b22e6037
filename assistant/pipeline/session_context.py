"""Defines what the parts of a session share: engines, settings, recorder, clock, and ways to report."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from assistant.events import LanguageChanged, SessionEvent
from assistant.history.turn_languages import TurnLanguages
from assistant.pipeline.engines import Engines, LanguageParts, SessionSettings
from assistant.pipeline.recorder import Recorder
from assistant.turns.events import ReportedEvent
from audio.clock import StreamClock
from audio.tts import Voice
from audio.units import Samples


@dataclass(slots=True)
class SessionContext:
    """Gives the parts of a session access to what they share.

    Attributes:
        engines: VAD, recognizer, LLM, voice and the other engines in use.
        settings: Time limits and language of the stages. A client may choose another language.
        recorder: Collects the trace of each turn.
        clock: The microphone's sample clock.
        position: Returns the position on the sample clock up to which frames were processed.
        dispatch: Passes an event to the turn-taking machine and applies its effects.
        on_event: Receives session events for the user interface or client.
        report_problem: Receives problem descriptions, one sentence each, without words of the conversation.
        languages: The language of each turn.
        recognizer_is_busy: Whether the last transcript was lost because too many conversations waited for theirs.
    """

    engines: Engines
    settings: SessionSettings
    recorder: Recorder
    clock: StreamClock
    position: Callable[[], Samples]
    dispatch: Callable[[ReportedEvent], None]
    on_event: Callable[[SessionEvent], None]
    report_problem: Callable[[str], None]
    languages: TurnLanguages = field(default_factory=TurnLanguages)
    recognizer_is_busy: bool = False
    _lacks_reported: set[str] = field(default_factory=set)

    def parts_of(self, language: str) -> LanguageParts:
        """Returns what a reply in a language is made with; "" is the conversation's own one."""
        parts = self.engines.languages.get(language)
        return parts or LanguageParts(self.engines.voice, self.engines.normalize_text, self.settings)

    def voice_of(self, parts: LanguageParts) -> Voice:
        """Returns the voice that speaks with these parts."""
        return parts.voice or self.engines.voice

    def commit_language(self, turn: int) -> None:
        """Lets the conversation go on in the language of a turn that is committed, and tells the user of a change."""
        changed, language = self.languages.commit(turn), self.languages.current
        parts = self.engines.languages.get(language)
        if not changed or parts is None:
            return
        before = self.settings
        self.engines.skill_effects.language = parts.settings.language
        self.settings = replace(parts.settings, greeting=before.greeting, in_call=before.in_call)
        self.on_event(LanguageChanged(turn, language, self.voice_of(parts).name))
        if parts.lacks_voice and language not in self._lacks_reported:
            self._lacks_reported.add(language)
            self.report_problem(parts.lacks_voice)
            self.recorder.fallbacks.append(parts.lacks_voice)
