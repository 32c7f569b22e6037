"""Tells the user what rang while no conversation was open, or was not answered."""

from collections.abc import Sequence
from datetime import datetime

from assistant.skills.answers import SetTimer
from assistant.skills.languages.language import Language, base_language, load_language
from assistant.skills.timers.replies import timer_label
from assistant.skills.timers.user_timers import Missed

_MAX_LISTED = 4


def missed_text(tag: str, missed: Sequence[Missed], now: datetime) -> str:
    """Returns the sentence about what was missed, at least one: "While I was away, your timer for pasta …".

    Args:
        tag: BCP 47 tag of the conversation's language. In a language without skills the sentence is in English.
        missed: What was missed, in order.
        now: Local time.
    """
    language = load_language(base_language(tag) or "en")
    told = [_missed_sentence(language, timer, now) for timer in missed[-_MAX_LISTED:]]
    sentence = language.say("unanswered" if missed[0].was_open else "missed", missed=language.phrases.join(told))
    more = len(missed) - len(told)
    return f"{sentence} {language.say('and_more', count=language.phrases.count(more))}" if more else sentence


def _missed_sentence(language: Language, missed: Missed, now: datetime) -> str:
    effect = missed.set_to
    moment = language.phrases.moment(missed.local_time, (missed.local_time.date() - now.date()).days)
    if isinstance(effect, SetTimer):
        label = timer_label(language, effect.name, effect.seconds)
        return language.piece("missed_timer", timer=label, moment=moment)
    if effect.about is None:
        return language.piece("missed_alarm", moment=moment)
    return language.piece("missed_reminder", moment=moment, about=effect.about)
