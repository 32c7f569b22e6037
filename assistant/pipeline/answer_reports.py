"""Reports to the user, once each, that a fallback answers, that the answer cache failed, that answers repeat."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from assistant.events import Problem, SessionEvent
from assistant.pipeline.reply import Reply
from assistant.support.notice import notice
from llm.chat import REPETITION

log = logging.getLogger(__name__)


@dataclass(slots=True)
class AnswerReports:
    """The notices to the user about the sources of answers.

    Attributes:
        on_event: Receives the reports.
        fallback_reported: Whether the user knows that a fallback answers.
    """

    on_event: Callable[[SessionEvent], None]
    fallback_reported: bool = False
    _cache_failure_reported: bool = False
    _repetition_reported: bool = False

    def report(self, reply: Reply) -> None:
        """Reports what changed with this reply."""
        self._report_fallback(reply)
        self._report_cache(reply)
        self._report_repetition(reply)
        self._report_unread_calls(reply)
        if reply.finished is not None and reply.finished.hint:
            self.on_event(Problem(reply.finished.hint))

    def _report_fallback(self, reply: Reply) -> None:
        """Reports once that a fallback answers, and once that the others answer again."""
        if reply.fallback and not self.fallback_reported:
            self.fallback_reported = True
            what = f"no other llm endpoint can answer, so {reply.fallback} on this machine does"
            log.warning("%s", what)
            self.on_event(Problem(notice("fallback_answers", name=reply.fallback)))
        elif reply.endpoint_answered and not reply.fallback and self.fallback_reported:
            self.fallback_reported = False
            log.warning("llm endpoint %r answers again", reply.answered_by)

    def _report_cache(self, reply: Reply) -> None:
        """Reports once that the answer cache failed, until it works again."""
        if reply.cache_lookup is None or reply.cache_lookup.outcome in {"excluded", "late", "paused"}:
            return
        failed = reply.cache_lookup.outcome == "failed"
        if failed and not self._cache_failure_reported:
            self.on_event(Problem(notice("cache_failed", reason=reply.cache_lookup.detail)))
        self._cache_failure_reported = failed

    def _report_repetition(self, reply: Reply) -> None:
        """Reports once that an answer was stopped because it repeated itself."""
        if reply.finished is not None and reply.finished.reason == REPETITION and not self._repetition_reported:
            self._repetition_reported = True
            what = f"llm endpoint {reply.answered_by!r} repeated itself, so its answer was stopped"
            log.warning("%s", what)
            self.on_event(Problem(notice("answer_repeats", name=reply.answered_by)))

    def _report_unread_calls(self, reply: Reply) -> None:
        """Reports that a function call beside the answer could not be read, so that nothing was done."""
        if reply.finished is not None and reply.finished.unread_calls:
            what = f"llm endpoint {reply.answered_by!r} wrote a function call that could not be read; nothing was done"
            log.warning("%s", what)
            self.on_event(Problem(notice("call_unread", name=reply.answered_by)))
