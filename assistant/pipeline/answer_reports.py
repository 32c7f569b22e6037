"""Reports to the user, once each, that a fallback answers, that the answer cache failed, that answers repeat."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from assistant.events import Problem, SessionEvent
from assistant.pipeline.reply_production import ReplyProduction
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

    def report(self, production: ReplyProduction) -> None:
        """Reports what changed with this reply."""
        self._report_fallback(production)
        self._report_cache(production)
        self._report_repetition(production)
        self._report_unread_calls(production)
        if production.finished is not None and production.finished.hint:
            self.on_event(Problem(production.finished.hint))

    def _report_fallback(self, production: ReplyProduction) -> None:
        """Reports once that a fallback answers, and once that the others answer again."""
        if production.fallback and not self.fallback_reported:
            self.fallback_reported = True
            what = f"no other llm endpoint can answer, so {production.fallback} on this machine does"
            log.warning("%s", what)
            self.on_event(Problem(notice("fallback_answers", name=production.fallback)))
        elif production.endpoint_answered and not production.fallback and self.fallback_reported:
            self.fallback_reported = False
            log.warning("llm endpoint %r answers again", production.answered_by)

    def _report_cache(self, production: ReplyProduction) -> None:
        """Reports once that the answer cache failed, until it works again."""
        if production.cache_lookup is None or production.cache_lookup.outcome in {"excluded", "late", "paused"}:
            return
        failed = production.cache_lookup.outcome == "failed"
        if failed and not self._cache_failure_reported:
            self.on_event(Problem(notice("cache_failed", reason=production.cache_lookup.detail)))
        self._cache_failure_reported = failed

    def _report_repetition(self, production: ReplyProduction) -> None:
        """Reports once that an answer was stopped because it repeated itself."""
        if (
            production.finished is not None
            and production.finished.reason == REPETITION
            and not self._repetition_reported
        ):
            self._repetition_reported = True
            what = f"llm endpoint {production.answered_by!r} repeated itself, so its answer was stopped"
            log.warning("%s", what)
            self.on_event(Problem(notice("answer_repeats", name=production.answered_by)))

    def _report_unread_calls(self, production: ReplyProduction) -> None:
        """Reports that a function call beside the answer could not be read, so that nothing was done."""
        if production.finished is not None and production.finished.unread_calls:
            name = production.answered_by
            log.warning("llm endpoint %r wrote a function call that could not be read; nothing was done", name)
            self.on_event(Problem(notice("call_unread", name=name)))
