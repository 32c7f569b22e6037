"""Runs conversations with random mixtures of faults in virtual time, and checks what must hold in every one.

A seed decides about the mode, the user's utterances and actions, and the faults: each has a kind, a beginning and an
end. After the last one, the user speaks twice. The first of these turns may still suffer from it (it is where a dead
engine is noticed); the second one is answered.

Some conversations have a client, which may end and clear the user's turns, request replies and cancel them. In half of
these only the client does so.

    PYTHONPATH=.:tests python -m support.conversations.random_faults 17 [18 …]  # prints and checks these
    PYTHONPATH=.:tests python -m support.conversations.random_faults 0-10000    # checks all of these
"""

import asyncio
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Literal

import numpy as np
from support.clocks.virtual_time import VirtualLoop
from support.conversations.conversation_checks import (
    AUDIBLE,
    check_history_was_heard,
    check_no_word_is_remembered_twice,
    check_stopped_replies_have_ended,
    check_turn_ends_once,
    check_unconfirmed_reply_is_silent,
    observed_replies,
)
from support.conversations.simulation import NOON, LoudnessVad, Simulation, SimulationResult, Utterance
from support.engines.faulty_parts import (
    ENDPOINT_FAULTS,
    TOOL_FAULTS,
    VOICE_FAULTS,
    CardStalls,
    FaultyEndpoint,
    FaultyTools,
    FaultyVoice,
)

from assistant.events import (
    InterimWords,
    Problem,
    ReplyStarted,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
    WordsTimed,
)
from assistant.history.items import AssistantMessage, UserMessage
from assistant.pipeline.engines import SessionSettings
from assistant.pipeline.reply_manager import MAX_TRAILING_REPLIES
from assistant.pipeline.reply_production import MAX_QUEUED_CHUNKS
from assistant.pipeline.side_tasks import MAX_TASKS
from assistant.skills.effects import SkillEffects
from assistant.tools import ToolSettings
from assistant.trace.record import FAILED, TurnRecord
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnSettings
from assistant.turns.state.states import Phase
from assistant.turns.words.wake_phrase import WakePhrase, WakePhraseGate
from audio.units import FRAME_MS, ms_of_samples, samples_of_s
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router

Mode = Literal["open microphone", "push-to-talk", "wake phrase", "client ends turns"]
Action = Literal["type", "repeat", "cancel", "clear output", "commit", "clear", "request"]
End = Literal["microphone ends", "user leaves", "cancelled"]

ENDS: tuple[tuple[End, int], ...] = (("microphone ends", 7), ("user leaves", 1), ("cancelled", 2))
"""Ends of conversations, and how many of ten have them."""

STT_FAULTS = ("crashes", "hangs", "is late", "hears nothing", "defect", "out of memory")
OTHER_FAULTS = ("vad fails", "card stalls", "frames lost", "loop stalls", "wall clock jumps")
FAULTS = (
    *(f"stt: {fault}" for fault in STT_FAULTS),
    *(f"llm: {fault}" for fault in ENDPOINT_FAULTS),
    *(f"tts: {fault}" for fault in VOICE_FAULTS),
    *(f"tool: {fault}" for fault in TOOL_FAULTS),
    *OTHER_FAULTS,
)
"""All kinds of faults."""

MODES: tuple[Mode, ...] = (
    "open microphone",
    "open microphone",
    "push-to-talk",
    "wake phrase",
    "client ends turns",
    "client ends turns",
)
"""The modes, by how often they are chosen."""

USER_ACTIONS: tuple[Action, ...] = ("type", "repeat", "cancel")
CLIENT_ACTIONS: tuple[Action, ...] = (*USER_ACTIONS, "clear output", "commit", "clear", "request")

WORD_MS = 200
SETTLED_MS = 100
"""From the end of the speech until its last frame has arrived, and the VAD has reported it."""

STUCK_AFTER_S = 10.0
STT_TIMEOUT_S = 3.0
TOOL_TIMEOUT_S = 2.0
MAX_ROUNDS = 3
MAX_GAP_S = STUCK_AFTER_S + 2 * STT_TIMEOUT_S + MAX_ROUNDS * TOOL_TIMEOUT_S + 2.0
"""Longest time in a turn in which nothing happens, stalls not included: the deadlines of everything it may wait for."""

MAX_TASKS_OF_SESSION = 60
MAX_ATTEMPTS = 16
PROBE_SETTLE_MS = 16_000
"""From the first turn after the last fault to the second, which is answered: more than the longest deadline."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of this kind, from `start_ms` to `end_ms`."""

    kind: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """One conversation with faults.

    Attributes:
        seed: Number of the conversation.
        utterances: What the user says, the last two after all faults.
        faults: The faults, which may overlap.
        actions: (ms, what) of the user or client. What a client does takes effect after the audio it sent before.
        has_client: Whether a client may also commit and clear the input, request replies, and clear the output.
        end: How the conversation ends.
        end_ms: When.
        endpoints: Number of LLM endpoints. The last one has no faults if there are several.
        has_tools: Whether the LLM has tools.
        tools_in_background: Whether their calls run in the background.
    """

    seed: int
    mode: Mode
    utterances: tuple[Utterance, ...]
    faults: tuple[Fault, ...]
    actions: tuple[tuple[int, Action], ...]
    has_client: bool
    end: End
    end_ms: int
    endpoints: int
    has_tools: bool
    tools_in_background: bool
    speculate_after_ms: float | None


def scenario_of(seed: int) -> Scenario:
    """Returns the conversation of this seed."""
    random = Random(seed)
    mode: Mode = random.choice(MODES)
    utterances, at_ms = list[Utterance](), 600
    for number in range(random.randint(2, 5)):
        utterances.append(_utterance(number, at_ms, random.randint(1, 5), mode))
        at_ms = utterances[-1].end_ms + random.choice([600, 1500, 3000, 5000, 9000])
    faulty_until_ms = at_ms
    faults = tuple(_random_fault(random, faulty_until_ms) for _ in range(random.randint(1, 5)))
    at_ms = max([faulty_until_ms, *(fault.end_ms for fault in faults)]) + random.randint(100, 3000)
    utterances.append(_utterance(len(utterances), at_ms, 3, mode))
    at_ms = utterances[-1].end_ms + PROBE_SETTLE_MS + random.randint(0, 3000)
    utterances.append(_utterance(len(utterances), at_ms, 4, mode))
    has_client = mode == "client ends turns" or (mode == "open microphone" and random.random() < 0.5)
    possible = CLIENT_ACTIONS if has_client else USER_ACTIONS
    actions = [
        (random.randint(500, faulty_until_ms), random.choice(possible)) for _ in range(random.choice([0, 0, 1, 3]))
    ]
    if mode == "client ends turns":
        for part in utterances[:-2]:
            actions += _client_ends(random, part)
        for part in utterances[-2:]:  # an endless answer may still be playing
            end_ms = part.end_ms + random.randint(SETTLED_MS, 800)
            actions += [(part.start_ms - 50, "cancel"), (end_ms, "commit"), (end_ms, "request")]
    end = random.choice([end for end, share in ENDS for _ in range(share)])
    complete_ms = utterances[-1].end_ms + 6000
    end_ms = complete_ms if end == "microphone ends" else random.randint(700, complete_ms)
    has_tools = random.random() < 0.4 or any(fault.kind.startswith("tool") for fault in faults)
    return Scenario(
        seed,
        mode,
        tuple(utterances),
        tuple(sorted(faults, key=lambda fault: fault.start_ms)),
        tuple(sorted(actions)),
        has_client,
        end,
        end_ms,
        random.choice([1, 1, 2]),
        has_tools,
        has_tools and random.random() < 0.3,
        random.choice([None, 60.0]),
    )


def _utterance(number: int, at_ms: int, count: int, mode: Mode) -> Utterance:
    words = [f"said{number}x{word}" for word in range(count)]
    words = ["hey", "computer", *words] if mode == "wake phrase" else words
    return Utterance(at_ms, at_ms + len(words) * WORD_MS, " ".join(words))


def _client_ends(random: Random, part: Utterance) -> list[tuple[int, Action]]:
    """Returns what a client does about an utterance, in most cases after its end."""
    end_ms = part.end_ms + random.choice([-150, 20, SETTLED_MS, SETTLED_MS, 800])
    match random.choice(["answered", "answered", "kept", "cleared", "cancelled", "asked twice"]):
        case "answered":
            return [(end_ms, "commit"), (end_ms + random.choice([0, 300]), "request")]
        case "kept":
            return [(end_ms, "commit")]
        case "cleared":
            return [(max(end_ms, part.end_ms + SETTLED_MS), "clear")]
        case "asked twice":  # while the first reply may still play
            again_ms = end_ms + random.randint(300, 1400)
            stop_ms = again_ms + random.choice([10, 300, 1000])
            return [(end_ms, "commit"), (end_ms, "request"), (again_ms, "request"), (stop_ms, _stop(random))]
        case _:
            stop_ms = end_ms + random.choice([1, 1, random.randint(20, 2500)])
            return [(end_ms, "commit"), (end_ms, "request"), (stop_ms, _stop(random))]


def _stop(random: Random) -> Action:
    return random.choice(["cancel", "clear output"])


def _random_fault(random: Random, until_ms: int) -> Fault:
    group = random.choice(["stt", "llm", "llm", "tts", "tool", ""])
    kind = random.choice([one for one in FAULTS if one.startswith(f"{group}: ")] if group else OTHER_FAULTS)
    start_ms = random.randint(100, until_ms)
    length_ms = random.choice([300, 1000, 3000, 8000, 20_000])
    if kind == "loop stalls":
        length_ms = random.choice([60, 300, 1500, 4000])
    return Fault(kind, start_ms, start_ms + length_ms)


@dataclass(frozen=True, slots=True)
class ClientAction:
    """An action that was carried out.

    Attributes:
        ms: When it was due.
        events_before: Number of session events before it.
        events: Their number when it had been carried out.
        messages_waiting: Number of typed messages that wait for a transcript. To cancel replies keeps these.
    """

    ms: int
    what: Action
    events_before: int
    events: int
    messages_waiting: int


@dataclass
class FaultySimulation(Simulation):
    """Runs a scenario.

    Attributes:
        scenario: The scenario.
        met: How often each fault was met by a request, or began where that cannot be counted.
        sizes: The largest size of each queue and collection.
        done: The actions that were carried out.
    """

    scenario: Scenario = field(default_factory=lambda: scenario_of(0))
    met: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    stalled_ms: list[tuple[float, float]] = field(default_factory=list)
    done: list[ClientAction] = field(default_factory=list)

    def schedule(self) -> None:
        """Makes the parts, and schedules the faults and actions."""
        self.endpoints = [
            FaultyEndpoint(f"e{number}", self._calls_tool, self._meets("llm: "))
            for number in range(self.scenario.endpoints)
        ]
        self.faulty_voice = FaultyVoice(met=self._meets("tts: "))
        self.voice = self.faulty_voice
        self.faulty_tools = FaultyTools(met=self._meets("tool: "))
        if self.scenario.has_tools:
            self.tools = self.faulty_tools
        self.cards = CardStalls(queues_replies=self.scenario.has_client)
        self.new_speaker = self.cards
        self.wall_clock = NOON
        self.skill_effects = SkillEffects(lambda _messages: None, self._local_now)
        self._tool_random = Random(self.scenario.seed)
        for fault in self.scenario.faults:
            self.at(fault.start_ms, lambda fault=fault: self._begin(fault))  # type: ignore[misc]
        if self.push_to_talk is not None:
            for part in self.utterances:
                self.at(part.start_ms - 50, lambda: self.session.set_push_to_talk(pressed=True))
                self.at(part.end_ms + 50, lambda: self.session.set_push_to_talk(pressed=False))
        if self.scenario.end == "user leaves":
            self.at(self.scenario.end_ms, self._leave)

    def use_endpoints(self) -> None:
        """Makes the endpoints the conversation's model: one by itself, several behind the router."""
        if len(self.endpoints) == 1:
            self.model = self.endpoints[0]  # type: ignore[assignment]
            return
        routing = Routing([Endpoint(one.name) for one in self.endpoints], "ordered", HedgeBudget(0.1), Random(1).random)
        self.model = Router(self.endpoints, routing, first_token_timeout_s=4.0)  # type: ignore[assignment]

    async def _converse(self) -> None:
        loop = asyncio.get_running_loop()
        before = asyncio.all_tasks()
        acting = loop.create_task(self._act_in_order(loop.time()), name="actions")
        running = loop.create_task(self.session.run(), name="session")
        if self.scenario.end == "cancelled":
            loop.call_later(self.scenario.end_ms / 1000, running.cancel)
        for _ in range(10_000):
            if running.done():
                break
            await asyncio.wait({running}, timeout=0.1)
            self._measure(len(asyncio.all_tasks() - before))
        if running.cancelled():
            assert self.scenario.end == "cancelled"
        else:
            running.result()
        acting.cancel()
        # A task that was cancelled again because it hung may end after the session.
        left = asyncio.all_tasks() - before
        if left:
            await asyncio.wait(left, timeout=30.0)
        if not acting.cancelled():
            acting.result()
        assert not asyncio.all_tasks() - before, f"tasks left: {asyncio.all_tasks() - before}"
        assert not self.faulty_voice.open, "a synthesis was left open"
        assert not any(one.open for one in self.endpoints), "a request was left open"
        assert not self.faulty_tools.listening, "a subscription was left"

    def _measure(self, tasks: int) -> None:
        manager, session = self.session._reply_manager, self.session
        replies = manager._replies.values()
        found = {
            "tasks": tasks,
            "attempts": len(manager._replies) + len(session._audio_input._transcriptions),
            "trailing replies": len(manager.trailing_replies),
            "side tasks": len(session.side_tasks._running) + len(session.side_tasks._waiting),
            "turns": len(self.session.recorder._turns),
            "chunks": max((one._chunks.qsize() for one in replies), default=0),
        }
        for name, size in found.items():
            self.sizes[name] = max(self.sizes[name], size)

    # ---- faults ----

    def _begin(self, fault: Fault) -> None:
        loop = asyncio.get_running_loop()
        self.at_end(fault)
        group, _, what = fault.kind.partition(": ")
        length_s = (fault.end_ms - fault.start_ms) / 1000
        match group:
            case "stt":
                self._break_recognizer(what, on=True)
                self.met[fault.kind] += 1
            case "llm":
                faulty = self.endpoints if len(self.endpoints) == 1 else self.endpoints[:-1]
                for endpoint in faulty:
                    endpoint.fault = what  # type: ignore[assignment]
            case "tts":
                self.faulty_voice.fault = what  # type: ignore[assignment]
                self.faulty_voice.failing_loads = fault.start_ms % 3
            case "tool":
                self.faulty_tools.fault = what  # type: ignore[assignment]
            case "card stalls":
                self.cards.spans.append((loop.time(), loop.time() + length_s))
            case "frames lost":
                self.microphone.muted = True
            case "loop stalls":
                assert isinstance(loop, VirtualLoop)
                self.stalled_ms.append((fault.start_ms, length_s * 1000))
                loop.stall(length_s)
            case "wall clock jumps":
                self.wall_clock += timedelta(hours=fault.start_ms % 49 - 24)
            case "vad fails":
                self.vad._fails_at_ms = 0.0
        if group in OTHER_FAULTS:
            self.met[fault.kind] += 1

    def at_end(self, fault: Fault) -> None:
        """Ends the fault when it is time."""
        loop = asyncio.get_running_loop()
        loop.call_later((fault.end_ms - fault.start_ms) / 1000, lambda: self._end(fault))

    def _end(self, fault: Fault) -> None:
        group, _, what = fault.kind.partition(": ")
        match group:
            case "stt":
                self._break_recognizer(what, on=False)
            case "llm":
                for endpoint in self.endpoints:
                    endpoint.fault = None
            case "tts":
                self.faulty_voice.fault = None
            case "tool":
                self.faulty_tools.fault = None
            case "frames lost":
                self.microphone.muted = False

    def _break_recognizer(self, what: str, *, on: bool) -> None:
        recognizer = self.recognizer
        match what:
            case "crashes":  # until it is loaded again
                recognizer.dead = recognizer.dead or on
                recognizer.failing_loads = int(on)
            case "hangs":
                recognizer.hangs = on
            case "is late":
                recognizer.delay_ms = 2500.0 if on else 20.0
            case "hears nothing":
                recognizer.deaf = on
            case "defect":
                recognizer.raises_bug = on
            case "out of memory":
                recognizer.out_of_memory = on

    def _meets(self, prefix: str) -> Callable[[str], object]:
        def meet(fault: str) -> None:
            self.met[prefix + fault] += 1

        return meet

    def _calls_tool(self) -> bool:
        return self.scenario.has_tools and self._tool_random.random() < 0.6

    def _leave(self) -> None:
        self.session.announce_end()

    def _local_now(self) -> datetime:
        return self.wall_clock

    async def _act_in_order(self, began_s: float) -> None:
        """Carries out the actions, each when the frames captured before it were processed, as on a connection."""
        loop = asyncio.get_running_loop()
        for ms, what in self.scenario.actions:
            await asyncio.sleep(began_s + ms / 1000 - loop.time())
            while ms_of_samples(self.session.context.position()) < ms - FRAME_MS:  # noqa: ASYNC110 - no event tells it
                await asyncio.sleep(FRAME_MS / 1000)
            before, waiting = len(self.events_with_history), len(self.session._reply_requests.typed_messages)
            self._act(what, ms)
            self.done.append(ClientAction(ms, what, before, len(self.events_with_history), waiting))

    def _act(self, what: Action, ms: int) -> None:
        match what:
            case "type":
                self.session.type(f"typed{ms}")
            case "repeat":
                self.session.repeat()
            case "cancel":
                self.session.cancel_reply(including_request=True)
            case "clear output":
                self.session.cancel_reply()
            case "commit":
                self.session.end_user_turn()
            case "clear":
                self.session.clear_input()
            case "request":
                self.session.request_reply(after_reply=True)


@dataclass(slots=True)
class FaultyConversation:
    """A conversation that has run, to be checked."""

    simulation: FaultySimulation
    result: SimulationResult

    @property
    def scenario(self) -> Scenario:
        return self.simulation.scenario


def run(scenario: Scenario) -> FaultyConversation:
    """Runs a conversation. The simulation checks that no task is left and that the stages of every record add up."""
    gate = WakePhraseGate()
    if scenario.mode == "wake phrase":
        gate = WakePhraseGate(WakePhrase("hey computer"), samples_of_s(scenario.seed % 2 * 3.0))
    tools = ToolSettings(
        timeout_s=TOOL_TIMEOUT_S,
        moment="One moment.",
        max_rounds=MAX_ROUNDS,
        mode="background" if scenario.tools_in_background else "wait",
        background_timeout_s=4.0,
    )
    simulation = FaultySimulation(
        scenario.utterances,
        scenario.end_ms,
        turns=turn_settings(scenario),
        settings=SessionSettings(stt_timeout_s=STT_TIMEOUT_S, tools=tools),
        vad=LoudnessVad(),
        wake_phrase=gate,
        push_to_talk=PushToTalk() if scenario.mode == "push-to-talk" else None,
        scenario=scenario,
    )
    simulation.recognizer.word_by_word = True
    simulation.recognizer.partials = scenario.seed % 3 == 0
    simulation.schedule()
    simulation.use_endpoints()
    return FaultyConversation(simulation, simulation.run())


def turn_settings(scenario: Scenario) -> TurnSettings:
    """Returns the settings of turn taking in the scenario's mode."""
    turns = TurnSettings(
        speculate_after_ms=scenario.speculate_after_ms, stuck_after_s=STUCK_AFTER_S, has_client=scenario.has_client
    )
    match scenario.mode:
        case "open microphone":
            return turns
        case "push-to-talk":
            return replace(turns, ends_turn=EndsTurn.PUSH_TO_TALK)
        case "wake phrase":
            by = InterruptedBy.VOICE if scenario.seed % 2 else InterruptedBy.WAKE_PHRASE
            return replace(turns, interrupted_by=by)
        case "client ends turns":
            return replace(turns, ends_turn=EndsTurn.CLIENT, interrupted_by=InterruptedBy.CLIENT)


# ---- what must hold ----


def check(conversation: FaultyConversation) -> None:
    """Checks the rules that always hold (DESIGN.md, section 5)."""
    result = conversation.result
    replies = observed_replies(result)
    faults = conversation.scenario.faults
    card_stalls = [(fault.start_ms, fault.end_ms) for fault in faults if fault.kind == "card stalls"]
    most_at_once = 1 + MAX_TRAILING_REPLIES * conversation.scenario.has_client
    check_unconfirmed_reply_is_silent(result, replies, card_stalls, most_at_once)
    check_history_was_heard(result, replies)
    check_turn_ends_once(result, replies, ended_early=conversation.scenario.end != "microphone ends")
    check_no_word_is_remembered_twice(result)
    check_turns_end_in_time(conversation)
    check_client_is_obeyed(conversation)
    check_failures_are_said(conversation)
    check_no_words_in_errors(conversation)
    check_bounds(conversation)
    if conversation.scenario.end == "microphone ends":
        assert conversation.simulation.session.turns.phase is Phase.IDLE, "stuck"
        check_last_turn_is_answered(conversation)


def check_turns_end_in_time(conversation: FaultyConversation) -> None:
    """Checks that no turn is open for longer than its deadlines while nothing happens in it."""
    result, scenario = conversation.result, conversation.scenario
    moments = [at_ms for at_ms, pcm in result.sound if np.abs(pcm).max() > AUDIBLE]
    moments += [at_ms for part in scenario.utterances for at_ms in range(part.start_ms, part.end_ms + 1, 100)]
    moments += [
        at_ms for at_ms, event in result.events if isinstance(event, SpeechStarted | UserTurnCommitted | ReplyStarted)
    ]
    moments.sort()
    stalled_ms = sum(length_ms for _, length_ms in conversation.simulation.stalled_ms)
    stalled_ms += sum(fault.end_ms - fault.start_ms for fault in scenario.faults if fault.kind == "card stalls")
    begun: dict[int, int] = {}
    for at_ms, event in result.events:
        if isinstance(event, SpeechStarted | UserTurnCommitted):
            begun.setdefault(event.turn, at_ms)
        elif isinstance(event, TurnFinished):
            since = begun.get(event.record.turn, at_ms)
            within = [since, *(moment for moment in moments if since < moment < at_ms), at_ms]
            gap_ms = max(after - before for before, after in pairwise(within))
            assert gap_ms <= MAX_GAP_S * 1000 + stalled_ms, (
                f"turn {event.record.turn} waited for {gap_ms / 1000:.1f} s, until {at_ms} ms"
            )


def check_client_is_obeyed(conversation: FaultyConversation) -> None:
    """Checks that cancelled replies stop at once, and what follows where only the client ends turns."""
    events = [event for _, event in conversation.result.events]
    for action in conversation.simulation.done:
        if action.what in {"cancel", "clear output"}:
            check_stopped_replies_have_ended(events[: action.events], action.events_before)
    if conversation.scenario.mode == "client ends turns":
        check_replies_were_requested(conversation)
        check_cleared_speech_is_forgotten(conversation)
        check_committed_speech_is_kept(conversation)


def check_replies_were_requested(conversation: FaultyConversation) -> None:
    """Checks that each reply was requested, and not cancelled since. Results of calls in the background request one."""
    if conversation.scenario.tools_in_background:
        return
    requests, done, origin = 0, list(conversation.simulation.done), ""
    for number, (at_ms, event) in enumerate(conversation.result.events):
        while done and done[0].events_before <= number:
            action = done.pop(0)
            if action.what == "cancel":
                requests = action.messages_waiting
            requests += action.what in {"request", "type"}
        if isinstance(event, UserTurnCommitted):
            origin = event.origin
        elif isinstance(event, ReplyStarted) and origin in {"spoken", "requested"}:
            assert requests > 0, f"a reply at {at_ms} ms that was not requested"
            requests -= 1


def _clients_actions(conversation: FaultyConversation, part: Utterance) -> list[tuple[int, Action]]:
    """Returns how the client ended or cleared the input from the beginning of the utterance to that of the next."""
    later = [other.start_ms for other in conversation.scenario.utterances if other.start_ms > part.start_ms]
    until_ms = min(later, default=conversation.scenario.end_ms)
    return [
        (action.ms, action.what)
        for action in conversation.simulation.done
        if action.what in {"commit", "clear"} and part.start_ms <= action.ms < until_ms
    ]


def check_cleared_speech_is_forgotten(conversation: FaultyConversation) -> None:
    """Checks that no word of an utterance that the client has cleared is in the history."""
    remembered = _remembered_words(conversation)
    for part in conversation.scenario.utterances:
        actions = _clients_actions(conversation, part)
        if actions and actions[0][1] == "clear" and actions[0][0] >= part.end_ms + SETTLED_MS:
            assert not remembered & set(part.words.split()), f"{part.words!r} was cleared"


def check_committed_speech_is_kept(conversation: FaultyConversation) -> None:
    """Checks that all words are in the history which the client has committed, unless they could not be recognized."""
    faults = {fault.kind for fault in conversation.scenario.faults}
    unheard = {"vad fails", "frames lost", *(f"stt: {fault}" for fault in STT_FAULTS)}
    if faults & unheard or conversation.scenario.end != "microphone ends":
        return
    remembered = _remembered_words(conversation)
    for part in conversation.scenario.utterances:
        actions = _clients_actions(conversation, part)
        local = {"repeat", "type"}  # of the terminal; no client sends these: they drop speech beside a reply
        if any(action.what in local and action.ms >= part.start_ms for action in conversation.simulation.done):
            continue
        if actions and actions[0][1] == "commit" and actions[0][0] >= part.end_ms + SETTLED_MS:
            assert set(part.words.split()) <= remembered, f"{part.words!r} was committed, and is lost"


def _remembered_words(conversation: FaultyConversation) -> set[str]:
    items = conversation.result.history.items
    return {word for item in items if isinstance(item, UserMessage) for word in item.text.split()}


def check_failures_are_said(conversation: FaultyConversation) -> None:
    """Checks that a turn which failed has an error in its record, and that it was shown."""
    shown = conversation.result.problems
    for record in conversation.result.records:
        if record.outcome in FAILED:
            assert record.error, f"turn {record.turn} {record.outcome} without an error"
            if conversation.scenario.end == "microphone ends":
                assert record.error in shown, f"turn {record.turn}: {record.error}, which was not shown"


def check_no_words_in_errors(conversation: FaultyConversation) -> None:
    """Checks that no word of the conversation is in an error or problem."""
    texts = [
        event.text for _, event in conversation.result.events if isinstance(event, Problem) and not event.private
    ] + [record.error or "" for record in conversation.result.records]
    for text in texts:
        assert not any(word in text for word in ("said", "typed", "answer1x", "answer2x")), f"words in {text!r}"


def check_bounds(conversation: FaultyConversation) -> None:
    """Checks that queues and collections stayed within their bounds."""
    sizes = conversation.simulation.sizes
    assert sizes["tasks"] <= MAX_TASKS_OF_SESSION, sizes
    assert sizes["attempts"] <= MAX_ATTEMPTS, sizes
    assert sizes["chunks"] <= MAX_QUEUED_CHUNKS, sizes
    assert sizes["side tasks"] <= MAX_TASKS, sizes
    assert sizes["turns"] <= MAX_ATTEMPTS, sizes


def check_last_turn_is_answered(conversation: FaultyConversation) -> None:
    """Checks that the last utterance, well after the last fault, got its answer, heard to its end."""
    last = conversation.scenario.utterances[-1]
    words = last.words.removeprefix("hey computer ")
    records = [record for record in conversation.result.records if words in _said(record)]
    assert records, f"{words!r} is in no turn: {[_line(record) for record in conversation.result.records]}"
    record = records[-1]
    assert record.outcome == "answered", _line(record)
    assert record.error is None, _line(record)
    answers = [item.text for item in conversation.result.history.items if isinstance(item, AssistantMessage)]
    assert any("answer" in text and text.endswith("x5.") for text in answers[-2:]), answers[-2:]


def _said(record: TurnRecord) -> str:
    return (record.words.user if record.words is not None else None) or ""


def _line(record: TurnRecord) -> str:
    return f"turn {record.turn} {record.outcome} {_said(record)!r} {record.error or ''}"


def failures_of(seeds: range, met: Counter[str]) -> Iterator[str]:
    """Runs and checks these conversations; yields a report for each that fails. Adds the faults they met to `met`."""
    for seed in seeds:
        scenario = scenario_of(seed)
        try:
            conversation = run(scenario)
            check(conversation)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            yield f"seed {seed}: {type(error).__name__}: {error} ({last.name}, line {last.lineno})"
        else:
            met.update(conversation.simulation.met)


def describe(scenario: Scenario) -> str:
    """Returns the scenario, its events and its records as text."""
    lines = [
        f"seed {scenario.seed}: {scenario.mode}, {scenario.endpoints} endpoints, tools {scenario.has_tools} "
        f"(background {scenario.tools_in_background}), {scenario.end} at {scenario.end_ms}"
    ]
    marks = [(fault.start_ms, f"FAULT {fault.kind} until {fault.end_ms}") for fault in scenario.faults]
    marks += [(part.start_ms, f"USER until {part.end_ms}: {part.words}") for part in scenario.utterances]
    marks += [(ms, f"ACTION {what}") for ms, what in scenario.actions]
    try:
        conversation = run(scenario)
    except BaseException as error:  # noqa: BLE001 - for a person who looks for the cause
        return "\n".join([*lines, *(f"{ms:7d} {text}" for ms, text in sorted(marks)), repr(error)])
    for ms, event in conversation.result.events:
        if isinstance(event, InterimWords | WordsTimed):
            continue
        text = _line(event.record) if isinstance(event, TurnFinished) else repr(event)[:200]
        marks.append((ms, text))
    lines += [f"{ms:7d} {text}" for ms, text in sorted(marks, key=lambda mark: mark[0])]
    lines += map(repr, conversation.result.history.items)
    lines.append(str(dict(conversation.simulation.sizes)))
    return "\n".join(lines)


def main() -> None:
    """Runs the conversations named on the command line."""
    met: Counter[str] = Counter()
    for given in sys.argv[1:]:
        first, _, last = given.partition("-")
        if not last:
            sys.stdout.write(describe(scenario_of(int(first))) + "\n")
        for failure in failures_of(range(int(first), int(last or int(first) + 1)), met):
            sys.stdout.write(failure + "\n")
            sys.stdout.flush()
    sys.stdout.write(f"{ {kind: met[kind] for kind in FAULTS} }\n")


if __name__ == "__main__":
    main()
