"""A home that is not there: known devices, and no calls."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from support.conversations.loaded_skills import SpokenSkills, with_shared_tables

from assistant.config.home_settings import HomeSection
from assistant.home import SERVERS_HOME, Device, HomeFault, HomeState, ServiceCall, names_key
from assistant.skills.answers import HomeAction, SkillAnswer, SkillContext
from assistant.skills.home.replies import HomeSkill

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=UTC)


@dataclass
class QuietHome:
    """A home with known devices that does nothing."""

    state: HomeState | None
    fault: HomeFault | None = None
    kinds: frozenset[str] = HomeSection().used_kinds
    refreshed: int = 0
    key: str = SERVERS_HOME

    def act(
        self, _calls: Sequence[ServiceCall], _after: "asyncio.Task[HomeFault | None] | None" = None
    ) -> "asyncio.Task[HomeFault | None]":
        raise AssertionError("only a committed turn acts")

    def refresh_soon(self) -> None:
        self.refreshed += 1

    async def aclose(self) -> None:
        pass


def ask_home(home: QuietHome, said: str, code: str = "en", **context: object) -> SkillAnswer | None:
    skills = with_shared_tables(SpokenSkills([HomeSkill(home)]), code)
    return skills.answer(said, SkillContext(NOW, language=code, **context))  # type: ignore[arg-type]


def calls_of(answer: SkillAnswer | None) -> list[str]:
    """Returns the calls as "turn_on light.a light.b brightness_pct=30"."""
    if answer is None or not isinstance(answer.effect, HomeAction):
        return []
    return [
        " ".join([call.service, *call.targets, *(f"{name}={value}" for name, value in call.data)])
        for call in answer.effect.calls
    ]


def home_with(*devices: Device) -> QuietHome:
    """Returns a home with these devices and their areas and floors."""
    areas = tuple(dict.fromkeys(device.area for device in devices if device.area))
    floors = tuple(dict.fromkeys(device.floor for device in devices if device.floor))
    return QuietHome(HomeState(devices, areas, floors, names_key(devices, areas, floors)))
