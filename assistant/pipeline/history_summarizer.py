"""Has old turns summarized in the background, while a reply plays. Never on the path of a reply.

It begins when a reply has been sent. The next attempt at a reply cancels it, so that it never takes the language model
from a reply. The history takes the summary when the next turn is committed.
"""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, field

from assistant.history.history import History
from assistant.history.summary import MAX_SUMMARY_TOKENS, SummaryRequest
from llm.chat import ChatModel, ChatOptions, Token
from llm.errors import LlmError

log = logging.getLogger(__name__)

TIMEOUT_S = 20.0
"""Longest time for a summary."""

MAX_FAILURES = 3
"""Failures in a row after which a conversation is no longer summarized."""

_OPTIONS = ChatOptions(max_tokens=MAX_SUMMARY_TOKENS, size="small")


@dataclass(slots=True)
class HistorySummarizer:
    """Makes the summaries of one conversation, one at a time.

    Attributes:
        model: The language model; with endpoints of two sizes a small one is asked.
        history: Its history.
        tasks: Task group of the conversation; set when it begins.
    """

    model: ChatModel
    history: History
    tasks: asyncio.TaskGroup = field(init=False)
    _task: asyncio.Task[None] | None = None
    _failures: int = 0

    def start_if_due(self) -> None:
        """Starts a summary if the prompt is nearly full and none is being made or waits to be used."""
        if self._failures >= MAX_FAILURES or (self._task is not None and not self._task.done()):
            return
        request = self.history.summary_due()
        if request is not None:
            self._task = self.tasks.create_task(self._summarize(request), name="summarize the history")

    def cancel(self) -> None:
        """Stops a summary that is being made. It is made again after the next reply."""
        if self._task is not None:
            self._task.cancel()

    async def _summarize(self, request: SummaryRequest) -> None:
        """Asks for the summary. Errors are logged; none ends the conversation."""
        text = ""
        try:
            async with asyncio.timeout(TIMEOUT_S), aclosing(self.model.stream(request.messages, _OPTIONS)) as events:
                async for event in events:
                    text += event.text if isinstance(event, Token) else ""
        except TimeoutError:
            self._fail(f"no summary within {TIMEOUT_S:g} s")
        except LlmError as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001 - a defect here must not end the conversation
            self._fail(f"internal error ({type(error).__name__})")
        else:
            self._failures = 0
            self.history.offer_summary(request, text)

    def _fail(self, why: str) -> None:
        self._failures += 1
        end = "; it is not tried again in this conversation" if self._failures >= MAX_FAILURES else ""
        log.warning("the older turns of a conversation were not summarized: %s%s", why, end)
