"""Converts AWS's errors: refused requests (status, header, JSON) and exception frames inside an answer.

Texts about keys and signatures are never quoted: some repeat the whole request, the session token included.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from llm.aws.frames import EventStreamMessage
from llm.errors import SPOKEN_BROKEN_OFF, LlmBroken, LlmError, LlmRefused, LlmTooSlow
from llm.http_errors import (
    SPOKEN_BUSY,
    SPOKEN_KEY,
    SPOKEN_NOT_FOUND,
    SPOKEN_REQUEST,
    SPOKEN_TROUBLE,
    WRONG_REQUEST_STATUSES,
    context_overflow,
    quoted,
)
from llm.refusal_causes import is_overflow
from llm.token_deadlines import SPOKEN_TOO_SLOW

_BUSY = frozenset({"throttling", "throttled", "toomanyrequests", "servicequotaexceeded", "limitexceeded"})
_STARTING = frozenset({"modelnotready", "serviceunavailable"})
_DENIED = frozenset({"accessdenied", "unauthorizedoperation", "notauthorized"})
_EXPIRED = frozenset({"expiredtoken", "tokenrefreshrequired"})
_SIGNATURE = frozenset({"invalidsignature", "signaturedoesnotmatch", "requesttimetooskewed", "requestexpired"})
_KEY = frozenset(
    {"unrecognizedclient", "invalidclienttokenid", "missingauthenticationtoken", "incompletesignature"}
    | {"invalidtoken", "optinrequired"}
)
_VALIDATION = frozenset({"validation", "validationerror", "serialization", "malformedinput"})
_MODEL = frozenset({"modelerror", "modelstreamerror"})

_ABOUT_THE_NAME = ("not found", "could not find", "model identifier", "on-demand throughput", "end of its life")
"""Phrases in a ValidationError that blame the endpoint or the model, not the request."""

_DATE = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_SKEW_MIN_S = 60.0
"""Smallest clock difference that is reported; signatures are refused from 300 s on."""


@dataclass(frozen=True, slots=True)
class AwsFault:
    """AWS's description of a failure.

    Attributes:
        code: Error code in lower case, without "Exception": "throttling", "modelnotready"; or "".
        message: The error text, or "".
        status: HTTP status; None for an exception frame.
        original_status: Status of the model's own server, if that failed.
        detail: SageMaker's ErrorCode of a broken stream, or "".
    """

    code: str
    message: str
    status: int | None = None
    original_status: int | None = None
    detail: str = ""

    @property
    def has_outdated_keys(self) -> bool:
        """Whether newer credentials may help: these have expired or are no longer known."""
        return self.code in _EXPIRED | _KEY


def fault_of_answer(status: int, headers: Mapping[str, str], body: bytes) -> AwsFault:
    """Parses an answer with a status other than 200."""
    fields = fields_of(body)
    code = headers.get("x-amzn-errortype") or fields.get("__type") or fields.get("code") or fields.get("Code")
    return _fault(str(code or ""), fields, status)


def fault_of_frame(frame: EventStreamMessage) -> AwsFault:
    """Parses an exception frame, or an error frame, whose message is in a header."""
    fields = fields_of(frame.payload)
    message = frame.headers.get(":error-message")
    return _fault(frame.name, {"message": message, **fields} if isinstance(message, str) else fields, None)


def fields_of(body: bytes) -> dict[str, object]:
    """Returns the JSON object, or an empty one for anything else."""
    try:
        fields: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _fault(code: str, fields: dict[str, object], status: int | None) -> AwsFault:
    texts = [fields.get(key) for key in ("OriginalMessage", "originalMessage", "message", "Message")]
    statuses = [fields.get(key) for key in ("OriginalStatusCode", "originalStatusCode")]
    # "ThrottlingException:http://internal..." in a header, "com.amazon.coral.service#ThrottlingException" in a body.
    word = code.partition(":")[0].rpartition("#")[2].casefold().removesuffix("exception")
    return AwsFault(
        code=word,
        message=next((text for text in texts if isinstance(text, str) and text), ""),
        status=status,
        original_status=next((value for value in statuses if isinstance(value, int)), None),
        detail=str(fields.get("ErrorCode") or "")[:40],
    )


@dataclass(frozen=True, slots=True)
class AwsRefusals:
    """Converts the faults of one endpoint into errors.

    Attributes:
        endpoint: The endpoint's name in the configuration.
        where: Its address, for messages.
        model: The SageMaker endpoint, model or inference profile.
        action: The action that an IAM policy must allow.
        region: The region of the requests.
    """

    endpoint: str
    where: str
    model: str
    action: str
    region: str

    def error_of(self, fault: AwsFault, private: Sequence[str]) -> LlmError:
        """Returns the error for a fault. `private`: texts that it must not quote."""
        quote = quoted(fault.message, private)
        return (
            self._key_error(fault)
            or self._overflow(fault, quote)
            or self._model_error(fault, quote)
            or self._name_error(fault, quote)
            or self._load_error(fault, quote)
            or self._other_error(fault, quote)
        )

    def _key_error(self, fault: AwsFault) -> LlmError | None:
        code = f"({fault.code or f'HTTP {fault.status}'})"
        if fault.code in _EXPIRED:
            remedy = "renew them (aws sso login, aws login, or the role's source); the next request uses them"
            return self._refused(f"has AWS credentials that expired {code}: {remedy}", SPOKEN_KEY)
        if fault.code in _SIGNATURE:
            return self._refused(f"rejects the signature {code}: {_remedy_of_skew(fault.message)}", SPOKEN_KEY)
        if fault.code in _DENIED:
            remedy = f"allow {self.action} for it, and check that {self.model} may be used in {self.region}"
            return self._refused(f"denies its AWS credentials access {code}: {remedy}", SPOKEN_KEY)
        if fault.code in _KEY or fault.status in {401, 403}:
            remedy = "check AWS_ACCESS_KEY_ID, AWS_PROFILE or the role, and the region"
            return self._refused(f"does not accept its AWS credentials {code}: {remedy}", SPOKEN_KEY)
        return None

    def _overflow(self, fault: AwsFault, quote: str) -> LlmError | None:
        """Returns the error if the prompt is too long for the model, or for the model's own server."""
        if fault.code in _BUSY or fault.status in {404, 429} or not is_overflow("", fault.message):
            return None
        return context_overflow(self.endpoint, fault.code or f"HTTP {fault.status}", fault.message, quote)

    def _model_error(self, fault: AwsFault, quote: str) -> LlmError | None:
        """Returns the error if the model's own server failed or timed out."""
        if fault.detail == "ModelInvocationTimeExceeded" or fault.code == "modeltimeout":
            text = f"timed out: its model took too long: lower max_tokens, or check its load{quote}"
            # A stream (its fault has a detail) is not asked again: it would exceed the same time limit.
            return self._error(LlmTooSlow, text, SPOKEN_TOO_SLOW, retryable=not fault.detail)
        if fault.code not in _MODEL:
            return None
        if fault.original_status in WRONG_REQUEST_STATUSES:
            text = f"rejects the request (model: HTTP {fault.original_status}): check what {self.model} accepts{quote}"
            return self._refused(text, SPOKEN_REQUEST)
        if fault.original_status in {429, 503}:
            return self._refused(
                f"is too busy (model: HTTP {fault.original_status}): add instances{quote}", SPOKEN_BUSY
            )
        if fault.code == "modelstreamerror":
            text = f"broke off its answer ({fault.detail or fault.code}): see the model's log{quote}"
            return self._error(LlmBroken, text, SPOKEN_BROKEN_OFF, retryable=True)
        status = f" with {fault.original_status}" if fault.original_status else ""
        return self._refused(f"has a model that failed{status}: see the model's log{quote}", SPOKEN_TROUBLE)

    def _name_error(self, fault: AwsFault, quote: str) -> LlmError | None:
        about_the_name = any(words in fault.message.casefold() for words in _ABOUT_THE_NAME)
        if fault.code == "resourcenotfound" or fault.status == 404 or (fault.code in _VALIDATION and about_the_name):
            text = f"finds no {self.model} at {self.where}: check the name, the region and the account{quote}"
            return self._refused(text, SPOKEN_NOT_FOUND)
        return None

    def _load_error(self, fault: AwsFault, quote: str) -> LlmError | None:
        if fault.code in _STARTING or fault.status == 503:
            text = (
                f"is not ready ({fault.code or 'HTTP 503'}): wait, or check whether {self.model} has instances{quote}"
            )
            return self._refused(text, SPOKEN_BUSY)
        if fault.code in _BUSY or fault.status == 429:
            text = f"accepts no more requests for now ({fault.code or 'HTTP 429'}): wait, or raise its quota{quote}"
            return self._refused(text, SPOKEN_BUSY)
        return None

    def _other_error(self, fault: AwsFault, quote: str) -> LlmError:
        if fault.code in _VALIDATION or fault.status in WRONG_REQUEST_STATUSES:
            text = (
                f"rejects the request ({fault.code or f'HTTP {fault.status}'}): check what {self.model} accepts{quote}"
            )
            return self._refused(text, SPOKEN_REQUEST)
        code = fault.code[:40] or (f"HTTP {fault.status}" if fault.status else "no reason given")
        return self._refused(
            f"failed ({code}) at {self.where}: try again, or see AWS's health page{quote}", SPOKEN_TROUBLE
        )

    def _refused(self, text: str, spoken: str) -> LlmError:
        return self._error(LlmRefused, text, spoken, retryable=True)

    def _error(self, kind: type[LlmError], text: str, spoken: str, *, retryable: bool) -> LlmError:
        return kind(self.endpoint, f"llm endpoint {self.endpoint!r} {text}", spoken=spoken, retryable=retryable)


def _remedy_of_skew(message: str) -> str:
    """Returns the remedy for a rejected signature.

    If the clocks differ too much, the message names the request's time first and AWS's own time last.
    """
    dates = list[datetime]()
    with suppress(ValueError):  # digits that are not a date
        dates += [datetime.strptime(date, "%Y%m%dT%H%M%S%z") for date in _DATE.findall(message[:1000])]
    off_s = (dates[0] - dates[-1]).total_seconds() if len(dates) > 1 else 0.0
    if abs(off_s) >= _SKEW_MIN_S:
        way = "ahead" if off_s > 0 else "behind"
        return f"this machine's clock is {abs(off_s):.0f} s {way}: set it (timedatectl set-ntp true)"
    return "check the secret key, the region and this machine's clock"
