"""The home: switches lights, heating, scenes and media by the names that they have in the home."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from assistant.home import Device, HomePort, HomeState, Kind
from assistant.home.groups import find_group, with_joints
from assistant.home.query import Found, Query, Unclear
from assistant.skills.answers import SkillAnswer, SkillContext
from assistant.skills.dialog.memory import ServiceAsked, WhichName
from assistant.skills.dialog.several import answer_several
from assistant.skills.home.faults import PACKAGE, fault_text
from assistant.skills.home.planning import is_plannable, planned, time_said
from assistant.skills.home.requests import ALL_KINDS, HomeRequest, kinds_of
from assistant.skills.home.tables import HomeTables, home_tables
from assistant.skills.kinds import Match
from assistant.skills.languages.language import ability_of
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.reminders.planned import cancel_planned

SKILL = "home"

_TOGETHER = frozenset({"home_pause", "home_play", "home_next", "home_previous", "home_temperature", "home_is"})
"""Intents for which "the light" means every light."""
_QUESTIONS = frozenset({"home_is", "home_temperature"})
"""Intents that go before others: "is the lamp on" could be an order for a device called "is the lamp"."""
_PLAIN_ORDERS = frozenset({"home_on", "home_off", "home_set", "home_color", "home_lock", "home_unlock"})
"""Intents whose sentences are about a home, whatever the device is called."""


_NO_CONTEXT = SkillContext(datetime.min.replace(tzinfo=UTC))
"""Several commands need no context: only the time of the whole sentence does."""
_MAX_LISTED = 3
"""Names of devices that an answer tells."""
_CANCEL = "home_cancel"
"""Intent that cancels what is planned for devices."""


@dataclass(slots=True)
class HomeSkill:
    """Implements `MatchingSkill`.

    Attributes:
        home: The home.
    """

    home: HomePort
    _tables: dict[str, HomeTables] = field(default_factory=dict)

    def load(self, code: str) -> None:
        """See `MatchingSkill`."""
        if code not in self._tables:
            self._tables[code] = replace(home_tables(code))

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

    def match(self, text: str, code: str, room: str = "") -> Match | None:
        """See `MatchingSkill`."""
        tables = self._tables[code]
        return (
            self._cancel(tables, text, room)
            or self._timed(tables, text, lambda part: self._order(tables, part, room))
            or _match_of(self._order(tables, text, room))
        )

    def follow_up(self, text: str, context: SkillContext, code: str) -> Match | None:
        """See `MatchingSkill`: "the floor lamp", after "Which one do you mean?"; "make it brighter", later."""
        tables, memory = self._tables[code], context.memory
        question, subject = memory.heard_question(context.last_reply, code), memory.last_asked(SKILL, code)
        if isinstance(question, WhichName) and question.skill == SKILL:
            chosen = self._chosen_at(tables, question, text, context.room)
            if chosen is not None:
                return chosen
        if subject is None or not subject.name:
            return None

        def of_pronoun(part: str) -> SkillAnswer | None:
            matches = _matches(tables, part)
            orders = (match for words, match in matches if _is_pronoun(tables, words) and match.intent != _CANCEL)
            answers = (self._answer(tables, match, subject.name, subject.name, "") for match in orders)
            return next((answer for answer in answers if answer is not None and not answer.missing), None)

        return self._timed(tables, text, of_pronoun) or _match_of(of_pronoun(text))

    # ---- orders ----

    def _order(self, tables: HomeTables, text: str, room: str) -> SkillAnswer | None:
        """Returns the answer to an order without a time, or to a question; one that is missing for unknown devices."""
        unknown = None
        for words, match in _matches(tables, text):
            if match.intent == _CANCEL:
                continue
            if _is_pronoun(tables, words):
                return None  # "turn it off": see `follow_up`
            if words and tables.times.is_time(words) and not self._is_name(tables, words):
                continue  # "run for ten minutes"
            answer = self._answer(tables, match, words, text, room)
            if answer is None or _is_guess(tables, answer, words):
                continue
            if not answer.missing:
                return answer
            unknown = unknown or answer
        return unknown

    def _chosen_at(self, tables: HomeTables, question: WhichName, text: str, room: str) -> Match | None:
        """Returns the match of the choice of a device, at the time of the question or its own."""
        answer = self._chosen(tables, question, text, room)
        if answer is not None:
            time = tables.times.find(question.time_phrase) if question.time_phrase else None
            return _match_of(answer) if time is None else self._plan(tables, answer, time, question.time_phrase)
        for timed in tables.times.split(text):
            answer = self._chosen(tables, question, timed.rest, room)
            if answer is not None:
                return self._plan(tables, answer, timed.time, timed.phrase)
        return None

    def _is_name(self, tables: HomeTables, words: str) -> bool:
        """Returns whether the words are the whole name of a device."""
        state = self.home.state
        return state is not None and tables.index_of(state).named(words, Query(ALL_KINDS)) is not None

    def _chosen(self, tables: HomeTables, question: WhichName, text: str, room: str) -> SkillAnswer | None:
        """Returns the answer to the choice of a device: first among those that were told, then among all."""
        if question.names and not question.ids:
            return self._in_room(tables, question, text, room)
        if len(question.names) > 1 and text == tables.language.phrases.join(list(question.names)):
            return self._of_all(tables, question, text)
        for ids in (frozenset(question.ids), frozenset[str]()):
            answer = self._answer(tables, question.match, text, text, room, among=ids, is_answer=True)
            if answer is not None and not answer.missing and (answer.question is None or not ids):
                return answer
        return None

    def _of_all(self, tables: HomeTables, question: WhichName, text: str) -> SkillAnswer | None:
        """Returns the answer to "all of them"."""
        devices = () if self.home.state is None else self.home.state.devices
        meant = Found(tuple(device for device in devices if device.id in question.ids), by_name=False, is_list=True)
        return self._do(tables, question.match, meant, self._what(tables, text, meant))

    def _in_room(self, tables: HomeTables, question: WhichName, text: str, room: str) -> SkillAnswer | None:
        """Returns the answer to the choice of the room that "here" is."""
        state, match = self.home.state, question.match
        if state is None or not tables.index_of(state).has_place(text):
            return None
        words = tables.index_of(state).with_room(_device_words(match), text)
        answer = self._answer(tables, match, words, words, room, tells_names=True)
        return None if answer is None or answer.missing else answer

    def _answer(
        self,
        tables: HomeTables,
        match: TemplateMatch,
        words: str,
        text: str,
        room: str,
        *,
        among: frozenset[str] = frozenset(),
        is_answer: bool = False,
        tells_names: bool = False,
    ) -> SkillAnswer | None:
        """Returns the answer to a request; None if it is not about this home.

        Args:
            tables: The tables of the language.
            match: The request.
            words: Its words for the devices.
            text: The sentence.
            room: Where it is said.
            among: Ids of the only devices that may be meant; empty: all.
            is_answer: Whether the words answer the question which device is meant.
            tells_names: Whether the answer has the names of the devices.
        """
        state = self.home.state
        if state is None:
            return self._unread(tables, words)
        kinds, default, everything = kinds_of(match)
        near = tables.place_of(state, room)
        measures = HomeRequest.measures if match.intent == "home_temperature" else _any_device
        query = Query(
            kinds,
            default,
            everything,
            match.intent in _TOGETHER,
            lambda device: measures(device) and (not among or device.id in among),
            is_answer,
            near,
        )
        meant: Found | Unclear | None
        if words:
            index = tables.index_of(state)
            words = with_joints(index, tables.fold.parts(words, text), tables.groups)
            meant = find_group(index, words, query, tables.groups)
            asked_for = _device_words(match)
            if is_answer and isinstance(meant, Found) and tables.groups.joints.search(asked_for):
                ids = frozenset(device.id for device in meant.devices)
                whole = find_group(
                    index, asked_for, replace(query, only=measures, is_answer=False, chosen=ids), tables.groups
                )
                meant = whole if isinstance(whole, Found) and ids <= {device.id for device in whole.devices} else meant
        else:
            meant = _of_room(state, query, is_of_room=match.intent == "home_temperature")
        if tells_names and isinstance(meant, Found):
            meant = replace(meant, is_list=True)
        what = self._what(tables, _as_written(words, text), meant)
        if meant is None:
            request = HomeRequest(tables.language, self.home, match, what)
            return None if tables.groups.is_refused(words) else self._unknown(tables, request, words, kinds)
        return self._do(tables, match, meant, what, is_named=bool(words))

    def _do(
        self, tables: HomeTables, match: TemplateMatch, meant: Found | Unclear, what: str, *, is_named: bool = True
    ) -> SkillAnswer | None:
        """Returns the answer about these devices. `what`: how they are called; `is_named`: whether the user did."""
        request = HomeRequest(tables.language, self.home, match, what)
        if isinstance(meant, Unclear):
            return request.ask_which(meant)
        state = self.home.state
        subject = ServiceAsked(SKILL, match, what if is_named else "")
        current = {device.id: device for device in (() if state is None else state.devices)}
        devices = tuple(current[device.id] for device in meant.devices if device.id in current)
        answer = request.answer(devices)
        if answer is None:
            return None
        excepts = tables.groups.exceptions.search(f" {_device_words(match)} ") is not None
        return replace(answer, subjects=(subject,), excepts=excepts)

    # ---- later ----

    def _timed(self, tables: HomeTables, text: str, answer: Callable[[str], SkillAnswer | None]) -> Match | None:
        """Returns the match of a command with a time. A time in front belongs to all commands of the sentence."""
        if not tables.may_order(text):
            return None
        for timed in tables.times.split(text):
            found = answer(timed.rest)
            if (found is None or found.missing) and timed.is_front:
                found = answer_several(timed.rest, _NO_CONTEXT, tables.joint, lambda part, _context: answer(part))
            if found is None or found.missing:
                continue
            match = self._plan(tables, found, timed.time, timed.phrase)
            if match is not None:
                return match
        return None

    def _plan(self, tables: HomeTables, answer: SkillAnswer, time: TemplateMatch, phrase: str) -> Match | None:
        """Returns the match that plans an answer; None if it orders nothing that can be planned."""
        if isinstance(answer.question, WhichName):
            return _match_of(replace(answer, question=replace(answer.question, time_phrase=phrase)))
        if not is_plannable(answer, time):
            return None
        home = self.home
        return Match(SKILL, lambda context: planned(answer, time, context, tables.language, home), at_home=True)

    def _cancel(self, tables: HomeTables, text: str, room: str) -> Match | None:
        """Returns the match that cancels what is planned for devices: "cancel the light in ten minutes"."""
        state = self.home.state
        if state is None or not any(match.intent == _CANCEL for match in tables.matches(text)):
            return None
        parts = [(timed.rest, timed.time) for timed in tables.times.split(text)]
        for part, time in (*parts, (text, None)):
            for target, match in _matches(tables, part):
                if match.intent != _CANCEL or _is_pronoun(tables, target):
                    continue
                for words, services in tables.cancelled.readings(target):
                    query = Query(ALL_KINDS, ALL_KINDS, together=True, near=tables.place_of(state, room))
                    meant = find_group(tables.index_of(state), words, query, tables.groups)
                    if meant is None:
                        continue
                    ids = meant.ids if isinstance(meant, Unclear) else tuple(device.id for device in meant.devices)
                    reply = cancel_planned(
                        frozenset(ids),
                        self._what(tables, _as_written(words, text), meant),
                        tables.language,
                        services=services,
                        time_of=partial(time_said, time, tables.language),
                    )
                    return Match(SKILL, reply, at_home=True)
        return None

    # ---- words ----

    def _unread(self, tables: HomeTables, words: str) -> SkillAnswer | None:
        """Returns the answer that the home is not reached, if the words are certainly about one."""
        if not any(word in tables.words.kinds or word in tables.words.every for word in tables.fold(words)):
            return None
        return SkillAnswer(fault_text(self.home.fault or "late", tables.language.code), SKILL, failed=True)

    def _unknown(
        self, tables: HomeTables, request: HomeRequest, words: str, kinds: Sequence[Kind]
    ) -> SkillAnswer | None:
        """Returns the answer that the device may not be used, or is not in this home."""
        folded = tables.fold(words)
        if tables.words.names_nothing(folded):
            return None  # "unlock everything"
        meant = {tables.words.kinds.get(word) for word in folded}
        if {"lock", "garage"} & meant & set(kinds) - self.home.kinds:
            return request.say("home_guarded")
        is_named = "named" in request.match.values
        if request.match.intent not in _PLAIN_ORDERS or is_named or tables.times.mentioned(words):
            return None  # with a time that cannot be planned, it is for the language model
        return replace(request.say("home_unknown"), missing=True)

    def _what(self, tables: HomeTables, device_words: str, meant: Found | Unclear | None) -> str:
        """Returns what is switched: the names of a few devices, else the user's words without an article."""
        if isinstance(meant, Found) and (meant.by_name or (meant.is_list and len(meant.devices) <= _MAX_LISTED)):
            return tables.language.phrases.join(list(dict.fromkeys(device.name for device in meant.devices)))
        words = device_words.split()
        while len(words) > 1 and all(word in tables.words.small for word in tables.fold(words[0])):
            words.pop(0)
        return " ".join(words)


def _any_device(_device: Device) -> bool:
    return True


def _of_room(state: HomeState, query: Query, *, is_of_room: bool) -> Found | None:
    """Returns the devices that a request without words for them means: those of the room, or all.

    `is_of_room`: whether it means nothing without a room: "what is the temperature" is for the weather then.
    """
    devices = [device for device in state.devices if query.allows(device)]
    here = [device for device in devices if query.near and query.near in (device.area, device.floor)]
    if is_of_room:
        return Found(tuple(here), by_name=False) if here else None
    playing = [device for device in here if device.is_on]
    return Found(tuple(playing or devices), by_name=False)


def _matches(tables: HomeTables, text: str) -> list[tuple[str, TemplateMatch]]:
    """Returns the templates that match, each with its words for the devices: questions first, then fewest words."""
    whole = (
        match for match in tables.matches(text) if not tables.groups.ends_with_joint(match.values.get("target", "-"))
    )
    matches = [(_device_words(match), match) for match in whole]
    return sorted(matches, key=lambda match: (match[1].intent not in _QUESTIONS, len(match[0].split())))


def _is_pronoun(tables: HomeTables, words: str) -> bool:
    """Returns whether the words for the devices are "it", "that"."""
    return bool(words) and all(word in tables.words.pronouns for word in tables.fold(words))


def _is_guess(tables: HomeTables, answer: SkillAnswer, words: str) -> bool:
    """Returns whether only one word, without an article, is similar to a name: "start over" is not the oven."""
    question, folded = answer.question, tables.fold(words)
    is_of_one = isinstance(question, WhichName) and len(question.ids) == 1
    return is_of_one and len(folded) == 1 and not folded[0].isdecimal()


def _device_words(match: TemplateMatch) -> str:
    """Returns the words for the devices; "" without any."""
    return " ".join(part for slot in ("target", "named", "more") if (part := match.values.get(slot)))


def _as_written(words: str, text: str) -> str:
    """Returns the words with the capitals that they have in `text`."""
    written = {word.strip(".,?!;:").lower(): word.strip(".,?!;:") for word in text.split()}
    return " ".join(written.get(word, word) for word in words.split())


def _match_of(answer: SkillAnswer | None) -> Match | None:
    """Returns the match with this answer. More words may follow unknown ones, which may belong to a name."""
    if answer is None:
        return None
    return Match(SKILL, lambda _context: answer, missing=answer.missing, open_ended=answer.missing, at_home=True)
