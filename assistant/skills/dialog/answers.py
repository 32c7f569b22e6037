"""Answers to an open question: which entry, the missing part of a request, yes or no. A table of the question kinds.

A new request is no answer. The words of an answer are the templates of `dialog.yaml`. Pure.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assistant.skills.answers import SkillAnswer, SkillContext
from assistant.skills.dialog.memory import Confirm, MissingSlot, OpenQuestion, WhichEntry, WhichName
from assistant.skills.dialog.picking import chooses_all, picked_entries, position
from assistant.skills.dialog.requests import Requests
from assistant.skills.dialog.slots import (
    entries_of,
    has_moment,
    has_time,
    kind_of,
    only,
    with_duration,
    with_moment,
)
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.lists.splitting import ITEM_BREAK

_DIALOG = "dialog"
_ABOUT_USER = frozenset({"memory_add", "memory_forget"})
"""Requests whose open question is answered by a statement or a choice only: it changes what is kept for long."""
_WORD = re.compile(r"[\w']+")


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance of the user after a question.

    Attributes:
        text: As recognized.
        words: Its plain words without politeness.
        matches: The dialog templates that match all of it.
    """

    text: str
    words: tuple[str, ...]
    matches: Sequence[TemplateMatch]

    def is_a(self, intent: str) -> bool:
        """Returns whether the words match this intent."""
        return any(match.intent == intent for match in self.matches)


def answer_to_question(
    question: OpenQuestion, utterance: Utterance, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    """Returns the answer to an utterance that answers `question`; None if it does not."""
    if utterance.is_a("dialog_no") and (not isinstance(question, WhichName) or question.names):
        return SkillAnswer(requests.language.say("dropped"), _DIALOG)
    return _ANSWERS[type(question)](question, utterance, context, requests)


def _which_entry(
    question: WhichEntry, utterance: Utterance, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    kind = kind_of(question.match)
    if kind is None:
        return None
    by_number = {entry.number: entry for entry in entries_of(context.running, kind)}
    entries = [by_number[number] for number in question.numbers if number in by_number]
    name = [word for word in utterance.words if word not in requests.words.small]
    endings = requests.language.phrases.plural_endings
    picked = picked_entries(entries, utterance.matches, name, endings, context)
    if picked is None:
        if not utterance.is_a("dialog_other"):
            return None
        picked = ()  # of several, "the other one" is none yet
    unclear = len(picked) > 1 and not chooses_all(utterance.matches, len(entries))
    meant = picked or entries  # a choice that is not there is asked for again
    match = question.match
    if len(meant) > 1 and picked and not unclear:
        match = replace(match, values={**match.values, "all": "all"})
    return requests.reply_to(match, replace(context, running=only(context.running, (entry.number for entry in meant))))


def _missing_slot(
    question: MissingSlot, utterance: Utterance, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    if question.slot == "task":
        return _task(question, utterance, context, requests)
    if question.slot in {"items", "note"}:
        return _free_words(question, utterance, context, requests)
    of_moment = [
        candidate
        for candidate in utterance.matches
        if candidate.intent == "dialog_moment" and question.slot == "moment"
    ]
    timed = [candidate for candidate in of_moment if has_time(candidate)]
    lasting = [candidate for candidate in utterance.matches if candidate.intent == "dialog_duration"]
    if question.slot == "moment":
        lasting = [candidate for candidate in lasting if "bare" not in candidate.numbers]
    match = next(
        iter((*timed, *lasting, *of_moment)), None
    )  # "à sept heures" is a time; a day alone is asked for its time
    if match is None:
        return None
    change = with_moment if match in of_moment else with_duration
    return requests.reply_to(change(question.match, match), context)


def _task(question: MissingSlot, utterance: Utterance, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    known = requests.find(utterance.text)
    if known is not None and not known.missing:
        return None  # a new request
    said_whole = (requests.language.piece(name, task=utterance.text) for name in ("remind_me", "remind_me_to"))
    whole = next(
        (request for text in said_whole if (request := requests.find(text)) is not None and "task" in request.values),
        None,
    )
    task = utterance.text.strip(" .!?") if whole is None else whole.values["task"]
    match = replace(question.match, values={**question.match.values, "task": task})
    if whole is not None and has_moment(whole) and not has_moment(match):
        match = whole
    return requests.reply_to(match, context)


def _free_words(
    question: MissingSlot, utterance: Utterance, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    """Answers a request with the words that were said as items, or as a note."""
    known = requests.find(utterance.text)
    if known is not None and not known.missing:
        return None  # a new request
    text = utterance.text.strip(" .!?")
    options = question.match.values.get("options", "").split(ITEM_BREAK)
    is_about_user = question.match.intent in _ABOUT_USER
    is_question = utterance.text.lower().split()[0] in requests.words.questions
    if is_question and (question.slot == "items" or is_about_user):
        return None
    if is_about_user and utterance.text.rstrip().endswith("?"):
        return None
    if question.slot == "items":
        positions = (position(match) for match in utterance.matches if match.intent == "dialog_pick")
        place = next(
            (place for place in positions if isinstance(place, int) and -len(options) <= place < len(options)), None
        )
        if chooses_all(utterance.matches, len(options)):
            text = ITEM_BREAK.join(options)
        elif place is not None:
            text = options[place]
        elif is_about_user:
            named = _named_options(options, utterance, requests)
            if len(named) != 1:
                return None  # nothing is deleted by a sentence that chooses none
            text = named[0]
    return requests.reply_to(replace(question.match, values={**question.match.values, question.slot: text}), context)


def _named_options(options: Sequence[str], utterance: Utterance, requests: Requests) -> list[str]:
    """Returns the options that have all words of an answer: "the one about nuts"."""
    said = [word for word in _WORD.findall(utterance.text.casefold()) if word not in requests.words.small]
    return [option for option in options if said and set(said) <= set(_WORD.findall(option.casefold()))]


def _confirm(question: Confirm, utterance: Utterance, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    return requests.reply_to(question.match, context) if utterance.is_a("dialog_yes") else None


def name_chosen(question: OpenQuestion, utterance: Utterance, language: Language) -> str:
    """Returns the name that "the second one" or "yes" means, all names for "all"; else the words that were said."""
    if not isinstance(question, WhichName) or not question.names:
        return utterance.text
    if chooses_all(utterance.matches, len(question.names)):
        return language.phrases.join(list(question.names))
    if len(question.names) == 1 and utterance.is_a("dialog_yes"):
        return question.names[0]
    positions = (position(match) for match in utterance.matches if match.intent == "dialog_pick")
    place = next((place for place in positions if isinstance(place, int)), None)
    names = question.names
    return names[place] if place is not None and -len(names) <= place < len(names) else utterance.text


def _which_name(_question: WhichName, _said: Utterance, _context: SkillContext, _requests: Requests) -> None:
    return None  # the service that asked knows the names


_ANSWERS: dict[type[OpenQuestion], Callable[..., SkillAnswer | None]] = {
    WhichEntry: _which_entry,
    WhichName: _which_name,
    MissingSlot: _missing_slot,
    Confirm: _confirm,
}
"""The function for each kind of question."""
