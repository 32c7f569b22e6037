"""The home: switches lights, heating, scenes and media by the names that they have in the home."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from assistant.home import HomePort, HomeState, Kind
from assistant.home.names import Found, HomeIndex, HomeWords, Unclear
from assistant.skills.answers import Reply, SkillAnswer, SkillContext
from assistant.skills.dialog.memory import ServiceAsked, WhichName
from assistant.skills.home.requests import HomeRequest
from assistant.skills.home.words import WordFolder, home_words
from assistant.skills.kinds import Match
from assistant.skills.languages.language import LANGUAGES, Language, ability_of, language_with, read_skill
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch

SKILL = "home"
PACKAGE = "assistant.skills.home"
"""Package with the sentences."""

_SWITCHED: tuple[Kind, ...] = ("light", "switch", "fan", "media", "climate")
_STARTED: tuple[Kind, ...] = (*_SWITCHED, "scene", "script")
_ALL_OFF: tuple[Kind, ...] = ("light", "switch", "fan", "media")
_SET: tuple[Kind, ...] = ("light", "climate", "cover", "media", "fan")
_COVERS: tuple[Kind, ...] = ("cover", "garage")
_THERMOMETERS: tuple[Kind, ...] = ("climate", "sensor")
_ASKABLE: tuple[Kind, ...] = (*_SWITCHED, "cover", "garage", "lock")

_KINDS: dict[str, tuple[tuple[Kind, ...], tuple[Kind, ...], tuple[Kind, ...]]] = {
    # intent: allowed kinds, kinds if the user names only a place, kinds if the user says "everything"
    "home_on": (_STARTED, ("light",), ("light",)),
    "home_off": (_SWITCHED, ("light",), _ALL_OFF),
    "home_set": (_SET, ("light",), ("light",)),
    "home_up": (("light", "climate", "media", "fan"), ("light",), ()),
    "home_down": (("light", "climate", "media", "fan"), ("light",), ()),
    "home_color": (("light",), ("light",), ()),
    "home_open": (_COVERS, ("cover",), ("cover",)),
    "home_close": (_COVERS, ("cover",), ("cover",)),
    "home_lock": (("lock",), ("lock",), ("lock",)),
    "home_unlock": (("lock",), ("lock",), ()),
    "home_pause": (("media",), ("media",), ()),
    "home_play": (("media",), ("media",), ()),
    "home_next": (("media",), ("media",), ()),
    "home_previous": (("media",), ("media",), ()),
    "home_temperature": (_THERMOMETERS, _THERMOMETERS, ()),
    "home_is": (_ASKABLE, ("light",), ("light",)),
}
_TOGETHER = frozenset({"home_pause", "home_play", "home_next", "home_previous", "home_temperature", "home_is"})
"""Intents for which "the light" means every light."""
_QUESTIONS = frozenset({"home_is", "home_temperature"})
"""Intents that go before others: "is the lamp on" could be an order for a device called "is the lamp"."""
_PLAIN_ORDERS = frozenset({"home_on", "home_off", "home_set", "home_color", "home_lock", "home_unlock"})
"""Intents whose sentences are about a home, whatever the device is called."""


@dataclass(slots=True)
class _Tables:
    """Tables of one language, and the index of the home's names in it."""

    language: Language
    sentences: SentenceTemplates
    words: HomeWords
    fold: WordFolder
    index: HomeIndex | None = None

    def index_of(self, state: HomeState) -> HomeIndex:
        """Returns the index of these names. It is built once, until a name changes."""
        index = self.index
        if index is None or index.state.names_key != state.names_key:
            self.index = index = HomeIndex(state, self.words, self.fold)
        return index


@dataclass(slots=True)
class HomeSkill:
    """Implements `MatchingSkill`.

    Attributes:
        home: The home.
    """

    home: HomePort
    _tables: dict[str, _Tables] = field(default_factory=dict)

    def load(self, code: str) -> None:
        """See `MatchingSkill`."""
        if code not in self._tables:
            self._tables[code] = replace(_tables_of(code))

    def for_home(self, home: HomePort) -> "HomeSkill":
        """Returns the skill for another home. It shares the sentences, which take long to load."""
        return HomeSkill(home, {code: replace(tables, index=None) for code, tables in self._tables.items()})

    def prepare(self, state: HomeState) -> None:
        """Builds the indexes of new names. Called in a thread."""
        for tables in tuple(self._tables.values()):
            tables.index_of(state)

    def ability(self, code: str) -> str:
        """See `MatchingSkill`."""
        return ability_of(PACKAGE, code)

    @property
    def version(self) -> object:
        """See `MatchingSkill`."""
        return self.home.state, self.home.fault

    def refresh(self) -> None:
        """See `MatchingSkill`."""
        self.home.refresh_soon()

    async def aclose(self) -> None:
        """See `MatchingSkill`."""
        await self.home.aclose()

    def match(self, text: str, code: str) -> Match | None:
        """See `MatchingSkill`."""
        tables, unknown = self._tables[code], None
        for words, template_match in _matches(tables, text):
            if _is_pronoun(tables, words):
                return None  # "turn it off": see `follow_up`
            match = self._match(tables, template_match, words, text)
            if match is not None and not match.open_ended:
                return match
            unknown = unknown or match
        return unknown

    def follow_up(self, text: str, context: SkillContext, code: str) -> Match | None:
        """See `MatchingSkill`: "the floor lamp", after "Which one do you mean?"; "make it brighter", later."""
        tables, memory = self._tables[code], context.memory
        question, subject = memory.heard_question(context.last_reply, code), memory.last_asked(SKILL, code)
        if isinstance(question, WhichName) and question.skill == SKILL:
            match = self._match(tables, question.match, text, text, is_answer=True)
            if match is not None and not match.open_ended:
                return match
        if subject is None or not subject.name:
            return None
        matches = _matches(tables, text)
        of_pronoun = ((words, match) for words, match in matches if _is_pronoun(tables, words))
        replies = (self._match(tables, match, subject.name, subject.name) for _, match in of_pronoun)
        return next((match for match in replies if match is not None and not match.open_ended), None)

    def _match(
        self, tables: _Tables, match: TemplateMatch, words: str, text: str, *, is_answer: bool = False
    ) -> Match | None:
        state = self.home.state
        if state is None:
            return self._unread(tables, words)
        kinds, default, everything = _KINDS[match.intent]
        if match.intent == "home_set":
            kinds, default = _kinds_to_set(match, kinds)
        meant: Found | Unclear | None
        if not words:  # "next song": every player
            meant = Found(tuple(device for device in state.devices if device.kind in kinds), by_name=False)
        else:
            together, index = match.intent in _TOGETHER, tables.index_of(state)
            only = HomeRequest.measures if match.intent == "home_temperature" else None
            meant = index.find(words, kinds, default, everything, together=together, only=only, is_answer=is_answer)
        request = HomeRequest(tables.language, self.home, match, self._what(tables, _as_written(words, text), meant))
        if meant is None:
            return self._unknown(tables, request, words, kinds)
        if isinstance(meant, Unclear):
            return _match_of(request.ask_which(meant))
        subject = ServiceAsked(SKILL, match, request.what if words else "")
        current = {device.id: device for device in state.devices}
        devices = tuple(current[device.id] for device in meant.devices if device.id in current)
        answer = request.answer(devices)
        return None if answer is None else _match_of(replace(answer, subjects=(subject,)))

    def _unread(self, tables: _Tables, words: str) -> Match | None:
        """Returns the answer that the home is not reached, if the words are certainly about one."""
        if not any(word in tables.words.kinds or word in tables.words.every for word in tables.fold(words)):
            return None
        fault = self.home.fault or "late"
        text = tables.language.say(f"home_{'refused' if fault == 'not_found' else fault}")
        return _match_of(SkillAnswer(text, SKILL, failed=True))

    def _unknown(self, tables: _Tables, request: HomeRequest, words: str, kinds: Sequence[Kind]) -> Match | None:
        """Returns the answer that the device may not be used, or is not in this home."""
        meant = {tables.words.kinds.get(word) for word in tables.fold(words)}
        if {"lock", "garage"} & meant & set(kinds) - self.home.kinds:
            return _match_of(request.say("home_guarded"))
        if request.match.intent not in _PLAIN_ORDERS or "named" in request.match.values:
            return None
        unknown = SkillAnswer(request.say("home_unknown").text, SKILL, missing=True)
        return Match(SKILL, _reply(unknown), missing=True, open_ended=True, at_home=True)

    def _what(self, tables: _Tables, device_words: str, meant: Found | Unclear | None) -> str:
        """Returns what is switched: the name of one device, else the user's words without an article."""
        if isinstance(meant, Found) and meant.by_name:
            return meant.devices[0].name
        words = device_words.split()
        while len(words) > 1 and all(word in tables.words.small for word in tables.fold(words[0])):
            words.pop(0)
        return " ".join(words)


@lru_cache(maxsize=len(LANGUAGES))
def _tables_of(code: str) -> _Tables:
    """Returns the tables of a language without the names of a home. Homes share them."""
    language = language_with(PACKAGE, code)
    sentences = SentenceTemplates(language, [read_skill(PACKAGE, code)])
    words = home_words(language, sentences.wording)
    for text in sentences.wording.warm_up:
        list(sentences.find_all(text))
    return _Tables(language, sentences, words, WordFolder(language, sentences.wording))


def _matches(tables: _Tables, text: str) -> list[tuple[str, TemplateMatch]]:
    """Returns the templates that match, each with its words for the devices: questions first, then fewest words."""
    matches = [(_device_words(match), match) for match in tables.sentences.find_all(tables.fold.without_signs(text))]
    return sorted(matches, key=lambda match: (match[1].intent not in _QUESTIONS, len(match[0].split())))


def _is_pronoun(tables: _Tables, words: str) -> bool:
    """Returns whether the words for the devices are "it", "that"."""
    return bool(words) and all(word in tables.words.pronouns for word in tables.fold(words))


def _device_words(match: TemplateMatch) -> str:
    """Returns the words for the devices; "" without any."""
    return " ".join(part for slot in ("target", "named", "more") if (part := match.values.get(slot)))


def _as_written(words: str, text: str) -> str:
    """Returns the words with the capitals that they have in `text`."""
    written = {word.strip(".,?!;:").lower(): word.strip(".,?!;:") for word in text.split()}
    return " ".join(written.get(word, word) for word in words.split())


def _kinds_to_set(match: TemplateMatch, kinds: tuple[Kind, ...]) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
    """Returns the kinds that can be set to a number, and the kinds that are meant if the user names only a place."""
    aspect = match.values.get("aspect")
    if match.values.get("measure") == "degrees" or aspect == "climate":
        return ("climate",), ("climate",)
    if aspect is not None:
        only = tuple(kind for kind in kinds if kind == aspect)
        return only, only
    return kinds, ("light",)


def _match_of(answer: SkillAnswer) -> Match:
    return Match(SKILL, _reply(answer), at_home=True)


def _reply(answer: SkillAnswer) -> Reply:
    def reply(_context: SkillContext) -> SkillAnswer:
        return answer

    return reply
