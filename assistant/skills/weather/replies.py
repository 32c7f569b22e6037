"""The weather: now, today and the next days, at the configured place or at one that the user names."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from assistant.home import HomePort
from assistant.skills.answers import SkillAnswer, SkillContext
from assistant.skills.dialog.memory import ServiceAsked, WhichName
from assistant.skills.dialog.words import DialogWords, dialog_words
from assistant.skills.home.requests import degrees, either, measured
from assistant.skills.kinds import Match
from assistant.skills.languages.language import Language, ability_of, language_with, read_skill
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch
from assistant.support.json_http import ServiceFault
from assistant.weather import Day, Forecast, Place
from assistant.weather.answers import meant
from assistant.weather.service import WeatherService

SKILL = "weather"
PACKAGE = "assistant.skills.weather"
"""Package with the sentences."""

MAX_PLACE_WORDS = 3
"""Longest answer to the question for a place, in words; a longer one is another sentence."""

_BEFORE_PLACE = frozenset(("in", "for", "für", "à", "en", "pour", "para"))

LIKELY_PERCENT, UNLIKELY_PERCENT = 50, 25
"""Probability of rain in percent: from the first on the answer is "yes", below the second "no"."""


@dataclass(slots=True)
class WeatherSkill:
    """Implements `MatchingSkill`.

    Attributes:
        service: The weather service.
    """

    service: WeatherService
    _tables: dict[str, tuple[Language, SentenceTemplates]] = field(default_factory=dict)
    _words: dict[str, DialogWords] = field(default_factory=dict)

    def load(self, code: str) -> None:
        """See `MatchingSkill`."""
        if code not in self._tables:
            language = language_with(PACKAGE, code)
            self._tables[code] = (language, SentenceTemplates(language, [read_skill(PACKAGE, code)]))
            self._words[code] = dialog_words(code)

    @property
    def home(self) -> HomePort | None:
        """See `MatchingSkill`."""
        return None

    def ability(self, code: str) -> str:
        """See `MatchingSkill`."""
        return ability_of(PACKAGE, code)

    @property
    def version(self) -> object:
        """See `MatchingSkill`."""
        return None

    def refresh(self) -> None:
        """See `MatchingSkill`."""

    async def aclose(self) -> None:
        """See `MatchingSkill`."""
        await self.service.aclose()

    def match(self, text: str, code: str, room: str = "") -> Match | None:
        """See `MatchingSkill`."""
        match = self._find(text, code)
        return None if match is None else self._reply(match, self._tables[code][0])

    def follow_up(self, text: str, context: SkillContext, code: str) -> Match | None:
        """See `MatchingSkill`: "Paris", after "For which place?"; "and tomorrow?", after an answer."""
        language, memory = self._tables[code][0], context.memory
        question = memory.heard_question(context.last_reply, code)
        if isinstance(question, WhichName) and question.skill == SKILL:
            match = self._place(text, question.match, context, language)
            if match is not None:
                return match
        subject = memory.last_asked(SKILL, code)
        if subject is None:
            return None
        rest = self._words[code].continued(text)
        template_match = None if rest is None else self._find(language.piece("weather_again", rest=rest), code)
        if template_match is None or template_match.values.keys().isdisjoint({"day", "place"}):
            return None
        return self._reply(replace(subject.match, values={**subject.match.values, **template_match.values}), language)

    def _place(self, text: str, match: TemplateMatch, context: SkillContext, language: Language) -> Match | None:
        """Returns the reply to the answer to the question for a place."""
        words = text.strip(" .!?").split()
        if len(words) > 1 and words[0].lower() in _BEFORE_PLACE:
            words = words[1:]
        if not 0 < len(words) <= MAX_PLACE_WORDS or not _asks_for_place(context.last_reply or "", language):
            return None
        return self._reply(replace(match, values={**match.values, "place": " ".join(words)}), language)

    def _find(self, text: str, code: str) -> TemplateMatch | None:
        """Returns the match whose place has the fewest words: the day is no part of it."""
        matches = self._tables[code][1].find_all(text)
        return min(matches, key=lambda match: len(match.values.get("place", "").split()), default=None)

    def _reply(self, match: TemplateMatch, language: Language) -> Match:
        question = _Question(self.service, language, match)

        def reply(_context: SkillContext) -> SkillAnswer:
            which, subject = WhichName(SKILL, match), ServiceAsked(SKILL, match)
            return SkillAnswer("", SKILL, lookup=question.answer, question=which, subjects=(subject,))

        return Match(SKILL, reply, open_ended="place" in match.values)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question for the weather."""

    service: WeatherService
    language: Language
    match: TemplateMatch

    async def answer(self) -> SkillAnswer:
        """Asks the service."""
        named = self.match.values.get("place")
        place_name = named or self.service.settings.place
        if not place_name:
            return self._say("weather_where")
        try:
            places = await self.service.places(place_name, self.language.code)
            if not places:
                return self._say("weather_no_place", place=self.language.phrases.place(place_name).removeprefix("in "))
            several = meant(places)
            if named and len(several) > 1:
                return self._say("weather_which", names=either(self.language, list(map(_full_name, several[:3]))))
            forecast = await self.service.forecast(several[0])
        except ServiceFault as fault:
            kind = fault.kind if fault.kind in {"unreachable", "late"} else "broken"
            return SkillAnswer(self.language.say(f"weather_{kind}"), SKILL, failed=True)
        return self._tell(forecast, several[0] if named else None)

    def _tell(self, forecast: Forecast, place: Place | None) -> SkillAnswer:
        index = _index_of(self.match.values.get("day", "0"), forecast)
        if index is None or index >= len(forecast.days):
            return self._say("weather_too_far")
        day = forecast.days[index]
        fields = {
            "place": "" if place is None else self.language.piece("weather_in", place=place.name),
            "day": self._day(day, index),
            "sky": self.language.piece(f"sky_{day.sky}"),
            "low": self._number(day.low),
            "high": self._number(day.high),
            "rain": self.language.piece("weather_chance", number=self._number(day.rain_percent or 0)),
        }
        return self._say(_ANSWERS[self.match.intent](day, index), **(fields | self._now(forecast, day, index)))

    def _now(self, forecast: Forecast, day: Day, index: int) -> dict[str, str]:
        """Returns the fields of this moment, and of the wind."""
        metric = self.service.settings.units == "metric"
        fields = {
            "degrees": degrees(self.language, round(forecast.now.degrees)),
            "felt": self._number(forecast.now.felt),
            "wind": self._number(day.wind),
            "wind_unit": self.language.piece("weather_kmh" if metric else "weather_mph"),
        }
        if index == 0 and self.match.intent == "weather":
            fields["sky"] = self.language.piece(f"sky_{forecast.now.sky}")
        return fields

    def _day(self, day: Day, index: int) -> str:
        names = {0: "weather_today", 1: "weather_tomorrow"}
        return (
            self.language.piece(names[index]) if index in names else self.language.phrases.weekday(day.date.weekday())
        )

    def _number(self, value: float) -> str:
        return measured(self.language, round(value))

    def _say(self, answer: str, **fields: str) -> SkillAnswer:
        return SkillAnswer(self.language.say(answer, of=None, **fields), SKILL)


def _asks_for_place(text: str, language: Language) -> bool:
    """Returns whether these words of the assistant ask for a place."""
    which, where, unknown = (str(language.answers[f"weather_{name}"]) for name in ("which", "where", "no_place"))
    return text.startswith(which.partition("{")[0]) or text == where or text.endswith(unknown.rpartition("}")[2])


def _full_name(place: Place) -> str:
    return ", ".join(part for part in (place.name, place.region or place.country) if part)


def _index_of(day: str, forecast: Forecast) -> int | None:
    """Returns which day of the forecast is meant: "1" for tomorrow, "weekday 5" for the next Saturday."""
    if not day.startswith("weekday"):
        return int(day)
    weekday = int(day.removeprefix("weekday"))
    return next((index for index, other in enumerate(forecast.days) if other.date.weekday() == weekday), None)


def _rain_answer(day: Day, _at: int) -> str:
    chance = day.rain_percent or 0
    if chance >= LIKELY_PERCENT:
        return "weather_rain_yes"
    return "weather_rain_no" if chance < UNLIKELY_PERCENT else "weather_rain_maybe"


_ANSWERS: dict[str, Callable[[Day, int], str]] = {
    "weather": lambda _day, position: "weather_day" if position else "weather_now",
    "weather_temperature": lambda _day, position: "weather_degrees_day" if position else "weather_degrees_now",
    "weather_rain": _rain_answer,
    "weather_snow": lambda day, _at: "weather_snow_yes" if day.sky == "snow" else "weather_snow_no",
    "weather_wind": lambda _day, _at: "weather_wind",
}
