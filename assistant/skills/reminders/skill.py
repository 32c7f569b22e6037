"""Declares the skill reminders: reminders of a task."""

from assistant.skills.kinds import SentenceSkill, without_match
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.reminders.planned import CANCEL, cancel_requested, tell_planned
from assistant.skills.reminders.replies import (
    cancel_reminders,
    set_incomplete_reminder,
    set_reminder,
    set_reminder_in,
    tell_reminders,
)
from assistant.skills.ringing.timer_changes import move_alarm, shift_alarm
from declarations.skill import Skill

REPLIES = {
    "reminders": {
        "reminder_set": set_reminder,
        "reminder_in": set_reminder_in,
        "reminder_open": set_incomplete_reminder,
        "reminder_move": move_alarm,
        "reminder_shift": shift_alarm,
        "reminder_cancel": cancel_reminders,
        "reminder_list": without_match(tell_reminders),
    },
    "home": {CANCEL: cancel_requested, "planned_list": without_match(tell_planned)},
}

SKILL: Skill = Skill(
    name="reminders",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="reminders",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=32,
)
