"""Declares the skill timers."""

from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.ringing.timer_changes import (
    add_time,
    cancel_everything,
    change_length,
    count_timers,
    rename_timer,
    restart_timers,
)
from assistant.skills.timers.replies import cancel_timers, pause_timers, resume_timers, set_timer, tell_time_left
from declarations.skill import Skill

REPLIES = {
    "timers": {
        "timer_set": set_timer,
        "timer_left": tell_time_left,
        "timer_count": count_timers,
        "timer_cancel": cancel_timers,
        "timer_pause": pause_timers,
        "timer_resume": resume_timers,
        "timer_restart": restart_timers,
        "timer_extend": add_time,
        "timer_shorten": add_time,
        "timer_length": change_length,
        "timer_rename": rename_timer,
        "alarm_cancel_kinds": cancel_everything,
    },
}

SKILL: Skill = Skill(
    name="timers",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="timers",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=30,
)
