"""Converts a service's refusals into errors with a remedy: HTTP statuses, and errors inside a stream.

An error text of a service may repeat the request. A quotation is therefore truncated. It is omitted if it shares a run
of letters with a private text, unless all words of the run are in COMMON_WORDS.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from llm.chat import ChatOptions
from llm.empty_answer import SEE_ITS_LOG
from llm.environment import CHECK_PROXY
from llm.errors import LlmBroken, LlmContextOverflow, LlmError, LlmFiltered, LlmRefused
from llm.refusal_causes import is_overflow, is_quota, overflow_tokens

MAX_QUOTE_CHARS = 200
"""Maximum length of a quotation."""

MAX_CHECKED_CHARS = 4000
"""Characters that are compared with private texts. More than is quoted, so that a truncated repetition is found too."""

SHARED_RUN_CHARS = 8
"""Consecutive letters and digits, about two short words, that a quotation must not share with a private text.

Omitting too many quotations does no harm."""

WRONG_REQUEST_STATUSES = frozenset({400, 413, 414, 415, 422, 431})
"""Statuses that report an invalid request.

The cause may be specific to this service: credit, key, capabilities of its model. Another endpoint is therefore tried;
only a content filter's refusal is final."""

_WRONG_REQUEST_KINDS = ("invalid", "validation", "badrequest", "context_length")
COMMON_WORDS = frozenset(
    "a an and any api are as at available be been billing body by can cannot check choice code context current default"
    " details does error exceeded exceeds extra field for from function functions has have if in input inputs instead"
    " invalid is it its key language length limit maximum message messages missing model models must name no not of on"
    " only or parameter parameters permitted plan please prompt quota request required server service should support"
    " supported system temperature than that the this to token tokens tool tools try type unrecognized unsupported use"
    " user using value values was were what when which with you your max_tokens max_completion_tokens stream_options"
    " tool_choice".split()
)
"""Words that services use about any request. Quoting them reveals nothing about the user."""

_WORD = re.compile(r"\w+")

OPTIONAL_FIELDS = ("stream_options", "max_tokens", "max_completion_tokens", "temperature", "logprobs")
"""Fields of our chat-completion requests that are optional. Not every service accepts them."""

_NOT_TAKEN = re.compile(
    r"unsupported|(not|n't) support|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed)|extra_forbidden"
    r"|only \S{1,8} is (allowed|supported)",
    re.IGNORECASE,
)

_ABOUT_KEY = re.compile(r"\b(keys?|credentials?|auth\w*|tokens?|sk-)", re.IGNORECASE)
_API_KEY = re.compile(r"\bapi[ _-]?key\b", re.IGNORECASE)
"""Gemini reports a wrong API key with status 400."""

_STATUS = re.compile("[45][0-9][0-9]")
_ESCAPED_CHARACTER = re.compile(r"\\u([0-9a-fA-F]{4})")

SPOKEN_KEY = "My language model refused the request: the key is not accepted."
SPOKEN_NOT_FOUND = "My language model was not found at its address."
SPOKEN_BUSY = "My language model is too busy right now."
SPOKEN_TROUBLE = "My language model has a problem right now."
SPOKEN_REQUEST = "My language model could not handle the request."
SPOKEN_FILTER = "My language model declined to answer that."
SPOKEN_PROXY = "Something other than my language model answered."

SPOKEN_QUOTA = "The account of my language model has no credit left."
SPOKEN_TOO_LONG = "This conversation is too long for my language model."

QUOTA_PAUSE_S = 300.0
"""Time without requests to an endpoint whose account has no credit, if there are others."""

NOT_OVERFLOW_STATUSES = frozenset({401, 402, 403, 404, 405, 407, 408, 429})
"""Statuses that have another cause, whatever their text."""

PROXY_REFUSES = f"is behind a proxy that refuses the connection: {CHECK_PROXY}"


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """The parts of a service's error report.

    Attributes:
        message: The error text, or "".
        kind: Error type and error code, joined, or "".
        status: An HTTP status inside the body, or None.
        param: The request field that the error is about, or "".
    """

    message: str
    kind: str
    status: int | None
    param: str = ""


def error_report_of(body: object) -> ErrorReport:
    """Parses a decoded error body of OpenAI, vLLM, TGI, FastAPI, Mistral or Gemini (which sends a list)."""
    body = body[0] if isinstance(body, list) and len(body) == 1 else body
    fields = body if isinstance(body, dict) else {}
    inner = fields.get("error")
    inner = inner if isinstance(inner, dict) else fields
    wrong = _wrong_field(inner.get("message")) or _wrong_field(inner) or {}
    place = [part for part in _list_of(wrong.get("loc")) if isinstance(part, str) and part != "body"]
    text = ": ".join(filter(None, [".".join(place), _text(wrong.get("msg"))]))
    texts = [inner.get("message"), fields.get("error"), fields.get("message"), fields.get("detail"), text]
    message = next((text for text in texts if isinstance(text, str)), "")
    kinds = [inner.get("type"), inner.get("code"), inner.get("status"), fields.get("error_type"), wrong.get("type")]
    codes = [int(code) for code in kinds if isinstance(code, int | str) and _STATUS.fullmatch(str(code))]
    return ErrorReport(
        message=message,
        kind=" ".join(kind[:60] for kind in kinds if isinstance(kind, str)),
        status=next(iter(codes), None),
        param=_text(inner.get("param")) or next(iter(place), ""),
    )


def _wrong_field(body: object) -> dict[str, object] | None:
    """Returns the first field that FastAPI's validation reports. Its content (`input`) is not used."""
    errors = _list_of(body.get("detail")) if isinstance(body, dict) else []
    return errors[0] if errors and isinstance(errors[0], dict) else None


def _list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def error_report_of_body(body: bytes) -> ErrorReport:
    """Parses an undecoded error body; a body that is not JSON gives an empty complaint."""
    try:
        return error_report_of(json.loads(body))
    except (ValueError, RecursionError):
        return ErrorReport("", "", None)


def quoted(message: str, private: Sequence[str]) -> str:
    """Returns `: "..."` to append to an error text, or "" if the message must not be quoted.

    `private`: texts that must not be revealed: the conversation, the request, the key.
    """
    letters = _letters(message[:MAX_CHECKED_CHARS])
    runs = _revealing_runs(message[:MAX_CHECKED_CHARS])
    for secret in filter(None, map(_letters, private)):
        starts = range(len(secret) - SHARED_RUN_CHARS + 1)
        if any(secret[start : start + SHARED_RUN_CHARS] in runs for start in starts):
            return ""
        if len(min(secret, letters, key=len)) < SHARED_RUN_CHARS and (secret in letters or letters in secret):
            return ""
    cut = printable(message)[:MAX_QUOTE_CHARS]
    return f': "{cut}"' if cut else ""


def printable(text: str) -> str:
    """Returns the text in one line, without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _revealing_runs(text: str) -> set[str]:
    """Returns the runs of SHARED_RUN_CHARS letters, except runs of COMMON_WORDS only."""
    letters, revealing = "", list[bool]()
    for word in _WORD.findall(_unescaped(text).casefold()):
        own = _letters(word)
        letters += own
        revealing += [word not in COMMON_WORDS] * len(own)
    starts = range(len(letters) - SHARED_RUN_CHARS + 1)
    runs = ((start, start + SHARED_RUN_CHARS) for start in starts)
    return {letters[start:stop] for start, stop in runs if any(revealing[start:stop])}


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, _unescaped(text).casefold()))


def _unescaped(text: str) -> str:
    return _ESCAPED_CHARACTER.sub(lambda match: chr(int(match[1], 16)), text)


def refused_by_status(  # noqa: PLR0911 - one return for each kind of refusal
    endpoint: str,
    status: int,
    *,
    where: str,
    model: str,
    report: ErrorReport,
    private: Sequence[str],
    location: str = "",
    key_in_headers: bool = False,
    usual_ending: str = "",
) -> LlmError:
    """Returns the error for an HTTP status other than 200.

    Texts about keys are never quoted: some repeat a part of the key.

    Args:
        where: The address without secrets.
        location: The target of a redirect without secrets, for a status below 400.
        key_in_headers: Whether the key is in one of the configured headers.
        usual_ending: The usual end of the path of such an address.
    """

    def refused(text: str, spoken: str, *, retryable: bool = True, field: str = "") -> LlmRefused:
        text = f"llm endpoint {endpoint!r} {text}"
        return LlmRefused(endpoint, text, spoken=spoken, retryable=retryable, field=field)

    quote = quoted(report.message, private)
    if status >= 400 and is_quota(report.kind, report.message):
        return no_credit(endpoint, f"HTTP {status}", quote)
    if status == 413 or (
        status >= 400 and status not in NOT_OVERFLOW_STATUSES and is_overflow(report.kind, report.message)
    ):
        return context_overflow(endpoint, f"HTTP {status}", report.message, quote)
    match status:
        case 403 if report.message and not _ABOUT_KEY.search(report.message):
            text = f"refuses access (HTTP 403): check whether its key may use {model or 'it'} from here{quote}"
            return refused(text, SPOKEN_REQUEST)
        case 401 | 403 | 400 if status != 400 or _API_KEY.search(report.message):
            what = "its headers" if key_in_headers else "the variable named by its api_key_env"
            return refused(
                f"requires a valid key (HTTP {status}): set {what} to a key that {where} accepts", SPOKEN_KEY
            )
        case 404 | 405:
            usual = f"; most end in {usual_ending}" if usual_ending and usual_ending not in where else ""
            remedy = f"check its url ({where}{usual}) and its model ({model})"
            return refused(f"was not found (HTTP {status}): {remedy}{quote}", SPOKEN_NOT_FOUND)
        case 407:
            return refused(f"at {where} {PROXY_REFUSES}", SPOKEN_PROXY)
        case 402 | 429:
            text = f"accepts no more requests for now (HTTP {status}): wait, or raise its quota{quote}"
            return refused(text, SPOKEN_BUSY)
        case _ if status < 400:
            final = f"the final address ({location})" if location else "the final address"
            remedy = f"check its url ({where})" if status < 300 else f"set its url to {final}, not {where}"
            text = f"answers HTTP {status} instead of a reply: {remedy}"
            text = f"llm endpoint {endpoint!r} {text}"
            return LlmBroken(endpoint, text, spoken=SPOKEN_PROXY, retryable=True)
        case _:
            text = f"failed (HTTP {status}) at {where}: {SEE_ITS_LOG}{quote}"
            if status not in WRONG_REQUEST_STATUSES:
                return refused(text, SPOKEN_TROUBLE)
    text = f"rejects the request (HTTP {status}): check what its model ({model}) accepts{quote}"
    filtered = is_filter(report)
    spoken = SPOKEN_FILTER if filtered else SPOKEN_REQUEST
    return refused(text, spoken, retryable=not filtered, field=unsupported_field(report))


def no_credit(endpoint: str, code: str, quote: str) -> LlmRefused:
    """Returns the error for an account without credit. Waiting does not help; another endpoint may."""
    text = f"llm endpoint {endpoint!r} has no credit left ({code}): check the plan and billing of its account{quote}"
    error = LlmRefused(endpoint, text, spoken=SPOKEN_QUOTA, retryable=True)
    error.retry_after_s = QUOTA_PAUSE_S
    return error


def context_overflow(endpoint: str, code: str, message: str, quote: str) -> LlmContextOverflow:
    """Returns the error for a prompt that is longer than the model's context."""
    remedy = "shorten the instructions, or give its server a longer context"
    text = f"llm endpoint {endpoint!r} takes no prompt that long ({code}): {remedy}{quote}"
    error = LlmContextOverflow(endpoint, text, spoken=SPOKEN_TOO_LONG, retryable=True)
    error.limit_tokens, error.prompt_tokens = overflow_tokens(message)
    return error


def unsupported_field(report: ErrorReport) -> str:
    """Returns the field of OPTIONAL_FIELDS that the service does not accept, or ""."""
    if not _NOT_TAKEN.search(f"{report.kind} {report.message}"):
        return ""
    named = [report.param] if report.param else re.findall(r"\w+", report.message)
    return next((name for name in named if name in OPTIONAL_FIELDS), "")


def refused_in_stream(endpoint: str, report: ErrorReport, private: Sequence[str]) -> LlmRefused:
    """Returns the error for a service that reports an error after HTTP 200."""
    kind = report.kind.casefold().replace("_error", "")
    quote = quoted(report.message, private)
    if is_quota(report.kind, report.message):
        return no_credit(endpoint, "inside its answer", quote)
    if is_overflow(report.kind, report.message) and report.status not in NOT_OVERFLOW_STATUSES:
        return context_overflow(endpoint, "inside its answer", report.message, quote)
    wrong = report.status in WRONG_REQUEST_STATUSES or any(word in kind for word in _WRONG_REQUEST_KINDS)
    filtered = is_filter(report)
    if filtered:
        spoken = SPOKEN_FILTER
    elif report.status == 429 or "overload" in kind or "rate_limit" in kind:
        spoken = SPOKEN_BUSY
    else:
        spoken = SPOKEN_REQUEST if wrong else SPOKEN_TROUBLE
    code = f" (code {report.status})" if report.status else ""
    text = f"llm endpoint {endpoint!r} reports an error inside its answer{code}: {SEE_ITS_LOG}"
    says_no = LlmFiltered if filtered else LlmRefused
    return says_no(endpoint, text + quote, spoken=spoken, retryable=not filtered)


def refuse_functions(endpoint: str, options: ChatOptions, why: str) -> None:
    """Raises LlmRefused if functions are offered. `why`: what does not support them, and the remedy."""
    if options.functions and options.choice != "none":
        text = f"llm endpoint {endpoint!r}: {why}"
        raise LlmRefused(endpoint, text, spoken=SPOKEN_REQUEST, retryable=True)


def is_filter(report: ErrorReport) -> bool:
    """Returns whether a content filter refused; a repeated request would not change that."""
    return "content_filter" in report.kind or "content_policy" in report.kind
