"""Turns a request and the devices that it means into an answer and an action. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from assistant.home import Device, HomePort, Kind, ServiceCall
from assistant.home.query import MAX_ASKED, Unclear
from assistant.skills.answers import FAULT, HomeAction, SkillAnswer
from assistant.skills.dialog.memory import WhichName
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch

SKILL = "home"

STEP_PERCENT = 20
"""Change of brightness by "brighter" and "darker"."""
STEP_DEGREES = 1.0
COLDEST, WARMEST = 5.0, 35.0
"""Limits of the heating in degrees, if it names none."""

_SWITCHED: tuple[Kind, ...] = ("light", "switch", "fan", "media", "climate")
_STARTED: tuple[Kind, ...] = (*_SWITCHED, "scene", "script")
_ALL_OFF: tuple[Kind, ...] = ("light", "switch", "fan", "media")
_SET: tuple[Kind, ...] = ("light", "climate", "cover", "media", "fan")
_COVERS: tuple[Kind, ...] = ("cover", "garage")
_THERMOMETERS: tuple[Kind, ...] = ("climate", "sensor")
_ASKABLE: tuple[Kind, ...] = (*_SWITCHED, "cover", "garage", "lock")

_KINDS: dict[str, tuple[tuple[Kind, ...], tuple[Kind, ...], tuple[Kind, ...] | None]] = {
    "home_on": (_STARTED, ("light",), ("light",)),
    "home_off": (_SWITCHED, ("light",), _ALL_OFF),
    "home_set": (_SET, ("light",), ("light",)),
    "home_up": (("light", "climate", "media", "fan"), ("light",), None),
    "home_down": (("light", "climate", "media", "fan"), ("light",), None),
    "home_color": (("light",), ("light",), None),
    "home_open": (_COVERS, ("cover",), ("cover",)),
    "home_close": (_COVERS, ("cover",), ("cover",)),
    "home_lock": (("lock",), ("lock",), ("lock",)),
    "home_unlock": (("lock",), ("lock",), ()),
    "home_pause": (("media",), ("media",), None),
    "home_play": (("media",), ("media",), None),
    "home_next": (("media",), ("media",), None),
    "home_previous": (("media",), ("media",), None),
    "home_temperature": (_THERMOMETERS, _THERMOMETERS, None),
    "home_is": (_ASKABLE, ("light",), ("light",)),
}
"""Allowed kinds of each intent, those meant by a place alone, and those meant by "everything" (None: as by a place)."""
ALL_KINDS: tuple[Kind, ...] = (*_ASKABLE, "scene", "script")
"""Kinds that can be named in a request."""

_FAULTS = ("unreachable", "late", "unauthorized", "refused", "broken", "busy")


@dataclass(frozen=True, slots=True)
class HomeRequest:
    """A request that matched a template.

    Attributes:
        language: Gives the sentences.
        home: Says which kinds may be used.
        match: The template.
        what: What is switched, as it is said.
    """

    language: Language
    home: HomePort
    match: TemplateMatch
    what: str

    def answer(self, devices: Sequence[Device]) -> SkillAnswer | None:
        """Returns the answer for these devices; None if they cannot do what is asked."""
        reachable = [device for device in devices if device.is_available]
        if not reachable:
            gone = self.say("home_gone" if devices else "home_nothing_plays")
            return SkillAnswer(gone.text, SKILL, failed=bool(devices))
        return _ANSWERS[self.match.intent](self, reachable)

    def say(self, answer: str, **fields: str) -> SkillAnswer:
        """Returns a sentence about what was asked for."""
        return SkillAnswer(self.language.say(answer, of=None, **({"what": self.what} | fields)), SKILL)

    def ask_which(self, unclear: Unclear) -> SkillAnswer:
        """Asks which device is meant, or which room "here" is."""
        shown = list(unclear.names[:MAX_ASKED])
        more = len(unclear.names) > MAX_ASKED
        names = self.language.piece("home_and_more", names=", ".join(shown)) if more else either(self.language, shown)
        of_devices = "home_sure" if len(unclear.names) == 1 else "home_which"
        answer = self.say(of_devices if unclear.ids else "home_which_room", names=names)
        question = WhichName(SKILL, self.match, tuple(shown), unclear.ids)
        return replace(answer, question=question, question_text=answer.text.partition(":")[0])

    @staticmethod
    def measures(device: Device) -> bool:
        """Returns whether a device tells a temperature."""
        return device.kind == "climate" or device.attributes.get("device_class") == "temperature"

    # ---- orders ----

    def do(
        self, answer: str, calls: Iterable[ServiceCall], undo: Iterable[ServiceCall] = (), **fields: str
    ) -> SkillAnswer:
        """Returns the answer with the action."""
        piece = self.language.say
        faults = {fault: piece(f"home_{fault}") for fault in _FAULTS}
        late = piece("home_failed_late", what=self.what, fault=FAULT)
        action = HomeAction(tuple(calls), tuple(undo), (*faults.items(), ("", faults["refused"])), late)
        answer_text = self.say(answer, **fields)
        return SkillAnswer(answer_text.text, SKILL, action)

    def switch(self, devices: Sequence[Device], *, on: bool) -> SkillAnswer:
        """Switches devices on or off, or starts a scene."""
        if on and all(device.kind in {"scene", "script"} for device in devices):
            return self.do("home_started", _calls(devices, "turn_on"))
        service, opposite = ("turn_on", "turn_off") if on else ("turn_off", "turn_on")
        changed = [d for d in devices if d.kind in {"light", "switch", "fan"} and d.is_on != on]
        return self.do(f"home_{'on' if on else 'off'}", _calls(devices, service), _calls(changed, opposite))

    def set_number(self, devices: Sequence[Device]) -> SkillAnswer | None:
        """Sets a brightness, position or volume in percent, or a temperature."""
        value = float(self.match.numbers["number"])
        kinds = {device.kind for device in devices}
        if kinds == {"climate"} and self.match.values.get("measure") != "percent":
            low = max((_number(device, "min_temp", COLDEST) for device in devices), default=COLDEST)
            high = min((_number(device, "max_temp", WARMEST) for device in devices), default=WARMEST)
            if not low <= value <= high:
                return self.say("home_bounds", low=self._number(low), high=self._number(high))
            return self.do(
                "home_degrees_set",
                _calls(devices, "set_temperature", temperature=value),
                degrees=degrees(self.language, value),
            )
        if len(kinds) != 1 or not (set_percent := _PERCENT.get(next(iter(kinds)))):
            return None
        if not 0 <= value <= 100:
            return self.say("home_bounds", low=self._number(0), high=self._number(100))
        return self.do("home_percent", set_percent(devices, value), number=self._number(value))

    def step(self, devices: Sequence[Device], *, up: bool) -> SkillAnswer | None:
        """Makes lights brighter, the heating warmer, media louder: or the opposite."""
        kinds = {device.kind for device in devices}
        if len(kinds) != 1:
            return None
        kind = next(iter(kinds))
        if kind == "climate":
            return self._step_temperature(devices, STEP_DEGREES if up else -STEP_DEGREES)
        if kind == "media":
            calls = _calls(devices, "volume_up" if up else "volume_down")
        elif kind == "fan":
            calls = _calls(devices, "increase_speed" if up else "decrease_speed")
        else:
            step = STEP_PERCENT if up else -STEP_PERCENT
            calls = _calls(devices, "turn_on", brightness_step_pct=step)
        return self.do("home_up" if up else "home_down", calls)

    def _step_temperature(self, devices: Sequence[Device], by: float) -> SkillAnswer | None:
        known = [device for device in devices if isinstance(device.attributes.get("temperature"), int | float)]
        if not known:
            return None
        target = _number(known[0], "temperature", 0.0) + by
        calls = [
            call
            for device in known
            for call in _calls([device], "set_temperature", temperature=_number(device, "temperature", 0.0) + by)
        ]
        return self.do("home_degrees_set", calls, degrees=degrees(self.language, target))

    def color(self, devices: Sequence[Device]) -> SkillAnswer:
        """Sets the colour of lights."""
        color = self.match.values["color"]
        kelvin = {"color_temp_kelvin": int(color)} if color.isdecimal() else {"color_name": color}
        return self.do("home_color", _calls(devices, "turn_on", **kelvin), color=self.match.words["color"])

    def move(self, devices: Sequence[Device], *, up: bool) -> SkillAnswer:
        """Opens or closes covers."""
        return self.do("home_open" if up else "home_close", _calls(devices, "open_cover" if up else "close_cover"))

    def lock(self, devices: Sequence[Device], *, locked: bool) -> SkillAnswer:
        """Locks or unlocks locks."""
        return self.do("home_lock" if locked else "home_unlock", _calls(devices, "lock" if locked else "unlock"))

    def media(self, devices: Sequence[Device], service: str, states: frozenset[str]) -> SkillAnswer:
        """Controls the players that are in one of these states, or the only one."""
        meant = [device for device in devices if device.state in states] or (devices if len(devices) == 1 else [])
        if not meant:
            return self.say("home_nothing_plays")
        return self.do(self.match.intent, _calls(meant, service))

    # ---- questions ----

    def tell_temperature(self, devices: Sequence[Device]) -> SkillAnswer | None:
        """Tells what a thermometer shows: a sensor first, then the heating."""
        for device in sorted(devices, key=lambda device: device.kind != "sensor"):
            value = device.state if device.kind == "sensor" else device.attributes.get("current_temperature")
            try:
                shown = round(float(value if value is not None else "nan"), 1)
                return self.say("home_degrees", degrees=degrees(self.language, shown))
            except (ValueError, OverflowError):
                continue
        return self.say("home_no_temperature")

    def tell_state(self, devices: Sequence[Device]) -> SkillAnswer:
        """Says whether devices are on, or closed, as was asked."""
        wants_on = self.match.values["state"] == "on"
        states = [device.is_on for device in devices]
        return self.say("home_yes" if (any(states) if wants_on else not any(states)) else "home_no")

    def _number(self, value: float) -> str:
        return measured(self.language, value)


def degrees(language: Language, value: float) -> str:
    """Returns a temperature: "21.5°"."""
    return language.piece("degrees", number=measured(language, value))


def measured(language: Language, value: float) -> str:
    """Returns a measured number: "21.5"."""
    return language.number(Fraction(str(value)))


def either(language: Language, names: list[str]) -> str:
    """Returns "a, b or c"."""
    *first, last = names
    return language.piece("either", first=", ".join(first), last=last) if first else last


def _calls(devices: Sequence[Device], service: str, **data: float | str | tuple[int, ...]) -> list[ServiceCall]:
    """Returns one call for each domain."""
    domains = dict.fromkeys(device.domain for device in devices)
    return [
        ServiceCall(
            domain,
            service,
            tuple(device.id for device in devices if device.domain == domain),
            tuple(sorted(data.items())),
        )
        for domain in domains
    ]


def _number(device: Device, attribute: str, otherwise: float) -> float:
    value = device.attributes.get(attribute)
    return float(value) if isinstance(value, int | float) else otherwise


def _set_brightness(devices: Sequence[Device], percent: float) -> list[ServiceCall]:
    return _calls(devices, "turn_on", brightness_pct=round(percent)) if percent else _calls(devices, "turn_off")


_PERCENT: dict[Kind, Callable[[Sequence[Device], float], list[ServiceCall]]] = {
    "light": _set_brightness,
    "cover": lambda devices, percent: _calls(devices, "set_cover_position", position=round(percent)),
    "media": lambda devices, percent: _calls(devices, "volume_set", volume_level=percent / 100),
    "fan": lambda devices, percent: _calls(devices, "set_percentage", percentage=round(percent)),
}

_PLAYING = frozenset({"playing", "on", "buffering"})
_PAUSED = frozenset({"paused"})
_ANSWERS: dict[str, Callable[[HomeRequest, Sequence[Device]], SkillAnswer | None]] = {
    "home_on": lambda request, devices: request.switch(devices, on=True),
    "home_off": lambda request, devices: request.switch(devices, on=False),
    "home_set": HomeRequest.set_number,
    "home_up": lambda request, devices: request.step(devices, up=True),
    "home_down": lambda request, devices: request.step(devices, up=False),
    "home_color": HomeRequest.color,
    "home_open": lambda request, devices: request.move(devices, up=True),
    "home_close": lambda request, devices: request.move(devices, up=False),
    "home_lock": lambda request, devices: request.lock(devices, locked=True),
    "home_unlock": lambda request, devices: request.lock(devices, locked=False),
    "home_pause": lambda request, devices: request.media(devices, "media_pause", _PLAYING),
    "home_play": lambda request, devices: request.media(devices, "media_play", _PAUSED),
    "home_next": lambda request, devices: request.media(devices, "media_next_track", _PLAYING),
    "home_previous": lambda request, devices: request.media(devices, "media_previous_track", _PLAYING),
    "home_temperature": HomeRequest.tell_temperature,
    "home_is": HomeRequest.tell_state,
}


def kinds_of(match: TemplateMatch) -> tuple[tuple[Kind, ...], tuple[Kind, ...], tuple[Kind, ...] | None]:
    """Returns the kinds of devices that a request allows, those that a place alone means, and "everything"."""
    kinds, default, everything = _KINDS[match.intent]
    if match.intent != "home_set":
        return kinds, default, everything
    return *_kinds_to_set(match, kinds), everything


def _kinds_to_set(match: TemplateMatch, kinds: tuple[Kind, ...]) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
    """Returns the kinds that can be set to a number, and the kinds that are meant if the user names only a place."""
    aspect = match.values.get("aspect")
    if match.values.get("measure") == "degrees" or aspect == "climate":
        return ("climate",), ("climate",)
    if aspect is not None:
        only = tuple(kind for kind in kinds if kind == aspect)
        return only, only
    return kinds, ("light",)
