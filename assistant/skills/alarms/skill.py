"""Declares the skill alarms: alarms, and snoozing of what rang."""

from assistant.skills.alarms.replies import cancel_alarms, set_alarm, set_alarm_in, tell_alarms
from assistant.skills.kinds import Replies, SentenceSkill, without_match
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.ringing.timer_changes import move_alarm, shift_alarm, snooze
from declarations.skill import Skill

REPLIES: Replies = {
    "alarms": {
        "alarm_set": set_alarm,
        "alarm_wake": set_alarm,
        "alarm_in": set_alarm_in,
        "alarm_move": move_alarm,
        "alarm_shift": shift_alarm,
        "alarm_cancel": cancel_alarms,
        "alarm_list": without_match(tell_alarms),
    },
    "snooze": {"snooze": snooze},
}

SKILL: Skill = Skill(
    name="alarms",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="alarms, and snoozing of what rang",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=31,
)
