"""Declares the skill days: days until, since and between dates, and weekdays."""

from assistant.skills.days.replies import (
    date_ahead,
    days_between,
    days_since,
    days_until,
    tell_weekday,
    tell_whether,
)
from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from declarations.skill import Skill

REPLIES = {
    "days": {
        "days_until": days_until,
        "days_since": days_since,
        "days_between": days_between,
        "day_of_date": tell_weekday,
        "weekday_is": tell_whether,
    },
    "date": {"date_ahead": date_ahead},
}

SKILL: Skill = Skill(
    name="days",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="days until, since and between dates; weekdays",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=20,
)
