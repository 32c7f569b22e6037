"""Finds the answer to a user's words that needs no language model. Entry point of all skills."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.home import HomePort
from assistant.skills.answers import SkillAnswer, SkillContext, changes_home
from assistant.skills.dialog.answers import name_chosen
from assistant.skills.dialog.refusals import refusal
from assistant.skills.dialog.several import answer_several, elided
from assistant.skills.dialog.taken_back import TakenBack
from assistant.skills.installed import sentence_skills
from assistant.skills.kinds import Match, MatchingSkill, SentenceSkill
from assistant.skills.languages.language import ability_of, base_language, load_language, read_skill
from assistant.skills.ringing.ring_answers import only_stops_ring
from assistant.skills.tables import SentenceTables, sentence_tables
from assistant.skills.unavailable.skill import WITHOUT_HOME

_MAX_REQUEST_CHARS = 1000
"""A longer text is no request to a skill: the longest sentence of a skill has 500 characters."""
_MAX_REPEATED_WORDS = 3
"""A longer answer to a question that is not understood is another request."""


class Skills:
    """All skills. After `load`, they use neither I/O nor a clock, except for the services."""

    name = "skills"

    def __init__(self, services: Sequence[MatchingSkill] = (), skills: Sequence[SentenceSkill] | None = None) -> None:
        """Builds no tables yet.

        Args:
            services: Asked in this order for what no other skill can do; public for the tools that use them, too.
            skills: The skills that share their sentences; None: those of the program.
        """
        self.services = services
        self._skills = sentence_skills() if skills is None else skills
        self._tables: dict[str, SentenceTables] = {}
        # The same words are matched twice in a row: by the router, then by the answer.
        self._latest: tuple[tuple[object, ...], Match | None] | None = None

    @property
    def home(self) -> HomePort | None:
        """The home; None without one."""
        return next((service.home for service in self.services if service.home is not None), None)

    def with_home(self, home: MatchingSkill) -> "Skills":
        """Returns these skills, with the same tables, for a conversation with a home of its own."""
        others = [service for service in self.services if service.home is None]
        own = Skills([home, *others], self._skills)
        own.share_tables(self._tables)
        return own

    def share_tables(self, tables: dict[str, SentenceTables]) -> None:
        """Uses tables that other skills load."""
        self._tables = tables

    @property
    def has_services(self) -> bool:
        """Whether there is a service."""
        return bool(self.services)

    def refresh(self) -> None:
        """Has the services read again what may have changed."""
        for service in self.services:
            service.refresh()

    async def aclose(self) -> None:
        """Ends the connections of the services."""
        for service in self.services:
            await service.aclose()

    def load(self, language: str = "en") -> None:
        """Builds the tables of a language and matches once, which blocks for about 100 ms.

        A second call returns immediately. Does nothing for an unsupported language. Raises OSError if the sentence
        files are missing.
        """
        code = base_language(language)
        if code is None or code in self._tables:
            return
        for skill in self._skills:
            skill.load(code)
        for service in self.services:
            service.load(code)
        files = [(skill, read_skill(skill.declaration.package, code)) for skill in self._skills]
        own = (ability_of(skill.declaration.package, code) for skill in self._skills)
        abilities = (*own, *(service.ability(code) for service in self.services))
        tables = sentence_tables(replace(load_language(code), abilities=tuple(filter(None, abilities))), files)
        for text in tables.sentences.wording.warm_up:
            tables.match(text)
        self._tables[code] = tables

    def match(self, text: str, language: str = "en", room: str = "") -> Match | None:
        """Returns the skill that understands all of `text`; None if no skill does or the language is unsupported.

        `room`: name of the room in which it is said. Raises RuntimeError before `load` of that language.
        """
        code = base_language(language)
        if code is None or len(text) > _MAX_REQUEST_CHARS:
            return None
        key = (code, text, room, *(service.version for service in self.services))
        latest = self._latest  # read once, because another thread may replace it
        if latest is not None and latest[0] == key:
            return latest[1]
        match = self._tables_of(code).match(text)
        if match is None or match.missing:
            if match is not None and match.skill in WITHOUT_HOME and self.home is not None:
                match = None  # there is a home: it does not know this device
            match = next((m for service in self.services if (m := service.match(text, code, room)) is not None), match)
        self._latest = (key, match)
        return match

    def answer(self, text: str, context: SkillContext) -> SkillAnswer | None:
        """Returns the answer to `text` in the language of the context; None if a language model should answer.

        A request that is taken back in the same breath is dropped. An answer to an open question comes first, then
        what refers to the last request, then a request of its own, then several requests. Raises RuntimeError before
        `load` of that language.
        """
        code = base_language(context.language)
        if code is None or len(text) > _MAX_REQUEST_CHARS:
            return None
        joint = self._tables_of(code).joint
        taken = self._taken_back(text, context, code)
        if taken is not None:
            return self._left_of(taken, context, code)
        if self._ends_in_free_words(text, code):
            # Free words take in all that follows: "remember that I'm vegetarian and set a timer for ten minutes".
            several = answer_several(
                text, context, joint, lambda part, then: self._request_or_none(part, then, code), elides=False
            )
            if several is not None:
                return several
        answer = self._answer_one(text, context, code)
        if answer is not None and not answer.missing:
            return answer
        return answer_several(text, context, joint, lambda part, then: self._answer_one(part, then, code)) or answer

    def _taken_back(self, text: str, context: SkillContext, code: str) -> TakenBack | None:
        """Returns how `text` takes a request back that is understood; None if it does not."""
        taken = self._tables_of(code).words.taken_back.split(text)
        if taken is None or taken.repeats:
            return None
        if context.running.ringing and self._only_stops_ring(taken.words, code):
            return None
        match = self.match(text, code)
        if match is not None and match.open_ended and not match.missing:
            return None  # "remind me to tell Anna, never mind": the words may be the reminder's
        dropped = self.answer(taken.request, context)
        if dropped is None or dropped.missing:
            return None
        # "A timer for five minutes, no, eight" refers to what was just set.
        return None if taken.is_correction and not changes_home(dropped.effect) else taken

    def _left_of(self, taken: TakenBack, context: SkillContext, code: str) -> SkillAnswer | None:
        """Returns the answer to what follows a request that was taken back; None if it is not understood."""
        if not taken.later:
            return SkillAnswer(self._tables_of(code).language.say("dropped"), "dialog")
        return self.answer(taken.later, context) or elided(
            taken.request.split(), taken.later, context, lambda part, then: self._answer_one(part, then, code)
        )

    def _ends_in_free_words(self, text: str, code: str) -> bool:
        match = self.match(text, code)
        return match is not None and match.takes_all and match.open_ended

    def _request_or_none(self, text: str, context: SkillContext, code: str) -> SkillAnswer | None:
        """Returns the answer to a request of at least two words; no single word or reference is one."""
        match = self.match(text, code, context.room) if len(text.split()) > 1 else None
        return None if match is None or (match.at_home and not context.at_home) else match.answer(context)

    def _answer_one(self, text: str, context: SkillContext, code: str) -> SkillAnswer | None:
        """Returns the answer to one request."""
        tables, memory = self._tables_of(code), context.memory
        if context.running.ringing and self._only_stops_ring(text, code):
            return SkillAnswer(tables.language.say("ring_stopped"), "timers")
        question, subjects = memory.heard_question(context.last_reply, code), memory.subjects_in(code)
        if question is not None or subjects:
            answer = tables.answer_in_dialog(text, context, question, subjects)
            if answer is not None:
                return answer
        match = self.match(text, code, context.room)
        if (match is None or match.missing) and (question is not None or subjects):
            named = text if question is None else name_chosen(question, tables.utterance(text), tables.language)
            matches = (service.follow_up(named, context, code) for service in self.services)
            match = next((follow_up for follow_up in matches if follow_up is not None), match)
        if match is not None and match.at_home and not context.at_home:
            match = tables.match(text)
        return None if match is None else match.answer(context)

    def _only_stops_ring(self, text: str, code: str) -> bool:
        match, words = self.match(text, code), len(self._tables_of(code).sentences.recognized_words(text))
        if match is None or match.missing:
            return only_stops_ring(words, None, None)
        return only_stops_ring(words, match.skill, match.template_match)

    def refusal(self, text: str, context: SkillContext) -> SkillAnswer:
        """Returns the answer to `text` if no skill understands it and there is no language model.

        A short answer to an open question is asked for once more. Raises OSError if the installation is incomplete.
        """
        code = base_language(context.language) or "en"
        self.load(code)
        tables, memory = self._tables_of(code), context.memory
        text = text[:_MAX_REQUEST_CHARS]
        words = tables.sentences.dialog_words(text)
        question, asked = memory.heard_question(context.last_reply, code), memory.question_text
        if question is not None and asked and context.last_reply != asked and 0 < len(words) <= _MAX_REPEATED_WORDS:
            return SkillAnswer(asked, "dialog", question=question, question_text=asked)
        return refusal(text, words, tables.words, tables.language, again=memory.refused)

    def _tables_of(self, code: str) -> SentenceTables:
        tables = self._tables.get(code)
        if tables is None:
            raise RuntimeError(f'the skills have no tables of "{code}" yet; call load("{code}") first')
        return tables
