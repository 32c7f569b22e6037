"""The lines of `repartee demo`: what is being heard stands at their end, whatever else ends meanwhile."""

import io
from dataclasses import replace

from rich.console import Console

from assistant.facts import ReplyCut, SpeechStarted, TurnFinished, WordsHeard
from assistant.items import ItemId
from assistant.screen import Screen
from assistant.turn_events import ReplyId
from bench.talk_picture import CONVERSATION

(TIMED,) = [fact.record for fact in CONVERSATION if isinstance(fact, TurnFinished)][:1]


def drawn(*facts: SpeechStarted | WordsHeard | ReplyCut | TurnFinished) -> str:
    """What the last fact has drawn on a terminal."""
    out = io.StringIO()
    screen = Screen(Console(file=out, force_terminal=True, width=100))
    for fact in facts:
        out.seek(0)
        out.truncate()
        screen.show(fact)
    return out.getvalue()


def test_who_interrupts_is_still_heard_when_the_reply_has_ended() -> None:
    first, second = SpeechStarted(1, 0.0, ItemId("item_1")), SpeechStarted(2, 900.0, ItemId("item_3"))
    cut = ReplyCut(ReplyId(1, 1), "It is", 400.0, "voice")
    interrupted = TurnFinished(replace(TIMED, turn=1, outcome="interrupted"))
    goes_on, ended = drawn(first, second, cut, interrupted), drawn(first, cut, interrupted)
    assert goes_on.rindex("hears") > goes_on.rindex(" ms ")
    assert ended.rfind("hears") < ended.rindex(" ms ")
