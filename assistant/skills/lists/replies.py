"""Answers about lists and notes."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.skills.answers import Asking, Reply, SkillAnswer, SkillContext, SkillEffect
from assistant.skills.dialog.memory import Confirm, ListNamed, MissingSlot
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.lists.items import (
    MAX_ITEMS,
    NOTES,
    SHOPPING,
    TODO,
    AddItems,
    ListItem,
    RemoveItems,
    items_of,
    list_names,
)
from assistant.skills.lists.sentences import list_words
from assistant.skills.lists.splitting import ITEM_BREAK, split_items
from assistant.skills.timers.replies import is_same_name

_MAX_TOLD = 12
"""Items that are told at once. The screen shows all."""


def list_label(language: Language, list_name: str) -> str:
    """Returns the name of a list in the language: "shopping list"."""
    names = {SHOPPING: "list_shopping", TODO: "list_todo", NOTES: "list_notes"}
    return language.piece(names[list_name]) if list_name in names else list_name


# ---- lists ----


def add_to_list(match: TemplateMatch, language: Language) -> Reply | None:
    """Adds items that are not on the list yet."""
    if "items" not in match.values:
        return None
    texts = split_items(match.values["items"], list_words(language.code).items, language.numerals)
    if not texts:
        return None

    def reply(context: SkillContext) -> SkillAnswer:
        name = _list_name(match, context)
        on_list = items_of(context.lists, name)
        present = [known_item.text for text in texts if (known_item := _alike(on_list, text, language)) is not None]
        new = tuple(text for text in texts if _alike(on_list, text, language) is None)
        if len(context.lists) + len(new) > MAX_ITEMS:
            return _answer(language.say("lists_full", count=language.phrases.count(MAX_ITEMS)), name)
        parts = [language.say("list_added", items=language.phrases.join(list(new)))] if new else []
        if present:
            known = language.phrases.join(present)
            answer = "list_known_too" if new else "list_known"
            parts.append(language.say(answer, of=len(present), items=known, list=list_label(language, name)))
        return _answer(" ".join(parts), name, texts, AddItems(name, new) if new else None)

    return reply


def ask_for_items(match: TemplateMatch, language: Language) -> Reply:
    """Asks what to add to a list."""

    def reply(context: SkillContext) -> Asking:
        request = replace(match, intent="list_add", values={**match.values, "list": _list_name(match, context)})
        return Asking(language.say("list_what"), MissingSlot(request, "items"))

    return reply


def read_list(match: TemplateMatch, language: Language) -> Reply:
    """Tells what is on a list."""

    def reply(context: SkillContext) -> SkillAnswer:
        name = _list_name(match, context)
        items, label = items_of(context.lists, name), list_label(language, name)
        if not items:
            return _answer(language.say("list_empty", list=label), name)
        told = _told(items, language)
        count = language.phrases.count(len(items))
        return _answer(language.say("list_items", of=len(items), count=count, list=label, items=told), name)

    return reply


def tell_whether_on_list(match: TemplateMatch, language: Language) -> Reply | None:
    """Says whether something is on a list."""
    texts = split_items(match.values["items"], list_words(language.code).items, language.numerals)
    if not texts:
        return None

    def reply(context: SkillContext) -> SkillAnswer:
        name = _list_name(match, context)
        on_list, label = items_of(context.lists, name), list_label(language, name)
        missing = [text for text in texts if not _named(on_list, text, language)]
        if missing:
            text = language.say("list_lacks", of=len(missing), items=language.phrases.join(missing), list=label)
            return _answer(text, name, texts)
        items = [_named(on_list, text, language)[0].text for text in texts]
        text = language.say("list_has", of=len(items), items=language.phrases.join(items), list=label)
        return _answer(text, name, tuple(items))

    return reply


def remove_from_list(match: TemplateMatch, language: Language) -> Reply | None:
    """Removes items by their names, or one by its position."""
    if "nth" in match.values:
        return lambda context: _remove_nth(match, language, context)
    texts = split_items(match.values.get("items", ""), list_words(language.code).items, language.numerals)
    if not texts:
        return None

    def reply(context: SkillContext) -> SkillAnswer | Asking:
        name = _list_name(match, context)
        on_list, label = items_of(context.lists, name), list_label(language, name)
        gone: dict[str, ListItem] = {}
        missing: list[str] = []
        for text in texts:
            named = _named(on_list, text, language)
            if len(named) > 1 and len({item.text.casefold() for item in named}) > 1:
                return _ask_which(match, language, named)
            gone |= {item.key: item for item in named}
            missing += [] if named else [text]
        lacking = language.phrases.join(missing)
        answer = "note_lacks" if name == NOTES else "list_lacks_that"
        parts = [language.say(answer, of=len(missing), items=lacking, list=label)] if missing else []
        return _removed(language, name, tuple(gone.values()), parts)

    return reply


def _ask_which(match: TemplateMatch, language: Language, named: Sequence[ListItem]) -> Asking:
    told = f" {language.piece('list_or')} ".join((", ".join(item.text for item in named[:-1]), named[-1].text))
    request = replace(match, values={**match.values, "options": ITEM_BREAK.join(item.text for item in named)})
    return Asking(language.say("list_which", items=told), MissingSlot(request, "items"))


def _remove_nth(match: TemplateMatch, language: Language, context: SkillContext) -> SkillAnswer:
    name, nth = _list_name(match, context), int(match.values["nth"])
    on_list, label = items_of(context.lists, name), list_label(language, name)
    if not on_list:
        return _answer(language.say("list_empty", list=label), name)
    if nth == 0 or nth > len(on_list):
        count = language.phrases.count(len(on_list))
        return _answer(language.say("list_short", of=len(on_list), count=count, list=label), name)
    return _removed(language, name, (on_list[nth - 1 if nth > 0 else nth],))


def _removed(language: Language, name: str, gone: tuple[ListItem, ...], parts: Sequence[str] = ()) -> SkillAnswer:
    """Returns the answer that these items are removed. `parts`: what else is said."""
    if not gone:
        return _answer(" ".join(parts), name)
    if name == NOTES:
        text = language.say("note_removed")
    else:
        text = language.say("list_removed", items=language.phrases.join([item.text for item in gone]))
    return _answer(" ".join([text, *parts]), name, (), RemoveItems(tuple(item.key for item in gone)))


def clear_list(match: TemplateMatch, language: Language) -> Reply:
    """Removes all items of a list, after a confirmation."""

    def reply(context: SkillContext) -> SkillAnswer | Asking:
        name = _list_name(match, context)
        items, label = items_of(context.lists, name), list_label(language, name)
        is_notes = name == NOTES
        if not items:
            return _answer(language.say("notes_none" if is_notes else "list_empty", list=label), name)
        if "sure" not in match.values:
            sure = replace(match, values={**match.values, "list": name, "sure": "yes"})
            count = language.phrases.count(len(items))
            asked = language.say("notes_sure" if is_notes else "list_sure", of=len(items), count=count)
            return Asking(asked, Confirm(sure))
        text = language.say("notes_cleared" if is_notes else "list_cleared", list=label)
        return _answer(text, name, (), RemoveItems(tuple(item.key for item in items)))

    return reply


def tell_lists(_found: TemplateMatch, language: Language) -> Reply:
    """Tells which lists there are."""

    def reply(context: SkillContext) -> SkillAnswer:
        names = [name for name in list_names(context.lists) if name != NOTES]
        if not names:
            return SkillAnswer(language.say("lists_none"), "lists")
        told = []
        for name in names:
            items = items_of(context.lists, name)
            count = language.phrases.count(len(items))
            told.append(language.piece("list_with", of=len(items), list=list_label(language, name), count=count))
        count = language.phrases.count(len(names))
        return SkillAnswer(
            language.say("lists_told", of=len(names), count=count, lists=language.phrases.join(told)), "lists"
        )

    return reply


# ---- notes ----


def take_note(match: TemplateMatch, language: Language) -> Reply:
    """Keeps a note as it was said."""
    note = match.values["note"]
    text = note[:1].upper() + note[1:]

    def reply(context: SkillContext) -> SkillAnswer:
        if len(context.lists) >= MAX_ITEMS:
            return _answer(language.say("lists_full", count=language.phrases.count(MAX_ITEMS)), NOTES)
        return _answer(language.say("note_taken"), NOTES, (text,), AddItems(NOTES, (text,)))

    return reply


def ask_for_note(match: TemplateMatch, language: Language) -> Reply:
    """Asks for the words of a note."""
    return lambda _context: Asking(language.say("note_what"), MissingSlot(replace(match, intent="note_add"), "note"))


def read_notes(_found: TemplateMatch, language: Language) -> Reply:
    """Tells the notes, each as a sentence."""

    def reply(context: SkillContext) -> SkillAnswer:
        notes = items_of(context.lists, NOTES)
        if not notes:
            return _answer(language.say("notes_none"), NOTES)
        told = [note.text if note.text.endswith((".", "?", "!")) else f"{note.text}." for note in notes[-_MAX_TOLD:]]
        text = language.say("notes_told", of=len(notes), count=language.phrases.count(len(notes)))
        return _answer(" ".join([text, *told]), NOTES)

    return reply


def remove_note(match: TemplateMatch, language: Language) -> Reply | None:
    """Deletes a note: by its position, by words in it, else the last one."""
    values = {"nth": "-1"} if not {"nth", "items"} & match.values.keys() else {}
    request = replace(match, values={**match.values, **values, "list": NOTES})
    remove = remove_from_list(request, language)
    if remove is None:
        return None

    def reply(context: SkillContext) -> SkillAnswer | Asking | str:
        if not items_of(context.lists, NOTES):
            return _answer(language.say("notes_none"), NOTES)
        answer = remove(context)
        assert isinstance(answer, SkillAnswer | Asking)
        return answer

    return reply


def clear_notes(match: TemplateMatch, language: Language) -> Reply:
    """Deletes all notes, after a confirmation."""
    return clear_list(replace(match, values={**match.values, "list": NOTES}), language)


# ---- shared ----


def _list_name(match: TemplateMatch, context: SkillContext) -> str:
    """Returns the list that is meant: the one that is named, else the one named last, else the shopping list."""
    if "list" in match.values:
        named = match.values["list"]
        return next((name for name in list_names(context.lists) if name.casefold() == named.casefold()), named)
    subjects = context.memory.subjects
    last = next(
        (subject.name for subject in subjects if isinstance(subject, ListNamed) and subject.name != NOTES), None
    )
    return last or SHOPPING


def _answer(text: str, name: str, texts: tuple[str, ...] = (), effect: SkillEffect | None = None) -> SkillAnswer:
    skill = "notes" if name == NOTES else "lists"
    return SkillAnswer(text, skill, effect, subjects=(ListNamed(name, texts),))


def _told(items: Sequence[ListItem], language: Language) -> str:
    texts = [item.text for item in items]
    told = language.phrases.join(texts[:_MAX_TOLD])
    more = len(texts) - _MAX_TOLD
    if more <= 0:
        return told
    return f"{', '.join(texts[:_MAX_TOLD])}. {language.say('and_more', count=language.phrases.count(more)).rstrip('.')}"


def _alike(items: Sequence[ListItem], text: str, language: Language) -> ListItem | None:
    endings = language.phrases.plural_endings
    return next((item for item in items if is_same_name(item.text.casefold(), text.casefold(), endings)), None)


def _named(items: Sequence[ListItem], text: str, language: Language) -> tuple[ListItem, ...]:
    """Returns the items with this name; if there are none, the items that contain its words."""
    endings, text_folded = language.phrases.plural_endings, text.casefold()
    if exact := tuple(item for item in items if is_same_name(item.text.casefold(), text_folded, endings)):
        return exact

    def has(own: Sequence[str], word: str) -> bool:
        return any(is_same_name(own_word, word, endings) for own_word in own)

    words = text_folded.split()
    return tuple(item for item in items if all(has(item.text.casefold().split(), word) for word in words))


LIST_REPLIES = {
    "list_add": add_to_list,
    "list_open": ask_for_items,
    "list_read": read_list,
    "list_has": tell_whether_on_list,
    "list_remove": remove_from_list,
    "list_clear": clear_list,
    "lists_tell": tell_lists,
}
NOTE_REPLIES = {
    "note_add": take_note,
    "note_open": ask_for_note,
    "note_read": read_notes,
    "note_remove": remove_note,
    "note_clear": clear_notes,
}
