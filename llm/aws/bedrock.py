"""Service `bedrock`: models on Bedrock, by ConverseStream or InvokeModelWithResponseStream."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Unpack, get_args

from llm.answer_length import asked_tokens
from llm.answer_state import AnswerState
from llm.answer_text.reasoning_habit import ReasoningHabit, habit_of
from llm.aws.bedrock_request import BedrockOptions, JsonObject, anthropic_body, converse_body, llama_body
from llm.aws.bedrock_stream import Anthropic, BedrockStream, Converse, EventParser, Llama
from llm.aws.request import BEDROCK
from llm.aws.service import AwsService, AwsSettings, path_part
from llm.aws.settings import Api, Family, Latency
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message
from llm.context_limit import ContextLimit
from llm.http.request_body import NO_PARAMETERS, Parameters, checked, merged
from llm.http_errors import refuse_functions
from llm.stops import StopSequenceParser
from llm.token_deadlines import IncomingStream, StreamParser, with_deadlines

Prompt = Callable[[Sequence[Message]], str]

RESERVED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "": frozenset({"messages", "system", "toolConfig"}),
        "anthropic": frozenset({"messages", "system", "tools", "tool_choice"}),
        "llama": frozenset({"prompt"}),
    }
)
"""Fields that `parameters` must not contain, by model family; "" is Converse."""


class BedrockChat:
    """A ChatModel for one model on Bedrock.

    Attributes:
        name: The endpoint's name in the configuration.
    """

    def __init__(
        self,
        name: str,
        model: str,
        *,
        api: Api = "converse",
        family: Family | None = None,
        prompt: Prompt | None = None,
        stops: Sequence[str] = (),
        cache: bool = False,
        latency: Latency = "standard",
        max_tokens: int | None = None,
        temperature: float | None = None,
        parameters: Parameters = NO_PARAMETERS,
        **settings: Unpack[AwsSettings],
    ) -> None:
        """Initializes the client without I/O.

        Args:
            name: The endpoint's name in the configuration.
            model: Id of a model or an inference profile, or the ARN of either or of provisioned throughput.
            api: "converse" has one format for all models; "invoke" uses the model's own format.
            family: The model's format, for "invoke". None: taken from the id; an ARN of provisioned throughput does not
                contain it.
            prompt: Renders the prompt of a Llama model; for "invoke" only.
            stops: Stop sequences of such a prompt: the answer is cut there and the request closed.
            cache: Whether to cache the system prompt: see `BedrockOptions`.
            latency: "optimized" requests the latency-optimized variant, if the model has one in the region.
            max_tokens: Longest answer; None: the service's default.
            temperature: Sampling temperature; None: the service's default.
            parameters: Additional request fields: of Converse (`inferenceConfig`, `additionalModelRequestFields`,
                `guardrailConfig`), or of the model's own format.
            settings: See `AwsSettings`.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
        """
        self.name = name
        self._context = ContextLimit(name)
        self._model = model
        _one_of(name, "api", api, get_args(Api))
        self._family: str = "" if api == "converse" else _family_of(name, model, family)
        if self._family == "llama" and prompt is None:
            raise ValueError(f"llm endpoint {name!r}: Llama with api 'invoke' needs a chat template, or api 'converse'")
        self._prompt = prompt
        self._habit = ReasoningHabit()
        self._stops = tuple(stops)
        is_optimized = _one_of(name, "latency", latency, get_args(Latency)) == "optimized"
        self._fixed = BedrockOptions(max_tokens, temperature, cache, is_optimized)
        self._parameters = checked(name, parameters, reserved=RESERVED[self._family])
        self._headers: dict[str, str] = {}
        if self._family and is_optimized:
            self._headers["x-amzn-bedrock-performanceconfig-latency"] = "optimized"
        last = "converse-stream" if api == "converse" else "invoke-with-response-stream"
        self._route = f"/model/{path_part(model)}/{last}"
        self._service = AwsService(name, BEDROCK, model, settings)

    @property
    def detail(self) -> str:
        """Kind, model and address."""
        suffix = f" (invoke, {self._family})" if self._family else ""
        return f"bedrock {self._model}{suffix} at {self._service.where}"

    async def load(self) -> None:
        """Fetches credentials and opens two idle connections. Call it again later to keep them. Never fails."""
        await self._service.load()

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`. Raises LlmRefused for functions to Llama by "invoke"."""
        most = asked_tokens(options, self._fixed.max_tokens, self._parameters)
        return self._context.ask(
            lambda fitting: with_deadlines(lambda: self._ask(fitting, options), self._service.deadlines, most), messages
        )

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        await self._service.aclose()

    def _ask(self, messages: Sequence[Message], options: ChatOptions) -> tuple[IncomingStream, StreamParser]:
        if self._family == "llama":
            why = "Llama with api 'invoke' does not support functions: use api 'converse', or no tools"
            refuse_functions(self.name, options, why)
        private = self._service.private(messages)
        prompt = self._prompt(messages) if self._prompt is not None and self._family == "llama" else None
        answer = AnswerState(
            self.name, self._habit if prompt is None else habit_of(prompt, self._stops), options.functions
        )
        event_parser = self._event_parser(answer, options, private)
        stream = BedrockStream(self.name, answer, event_parser, self._service.refusals, private=private)
        fields = merged(self._fields(messages, prompt, options), self._parameters)
        incoming = self._service.post(self._route, fields, options, private, self._headers)
        return incoming, StopSequenceParser(self.name, stream, self._stops, read_on=False)

    def _event_parser(self, answer: AnswerState, options: ChatOptions, private: Sequence[str]) -> EventParser:
        match self._family:
            case "anthropic":
                return Anthropic(answer, self.name, private)
            case "llama":
                return Llama(answer)
            case _:
                return Converse(answer, may_call=options.choice != "none")

    def _fields(self, messages: Sequence[Message], prompt: str | None, options: ChatOptions) -> JsonObject:
        if self._family == "anthropic":
            return anthropic_body(messages, options, self._fixed)
        if prompt is not None:
            return llama_body(prompt, options, self._fixed)
        return converse_body(messages, options, self._fixed)


def _one_of(name: str, setting: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ValueError(f"llm endpoint {name!r}: {setting} must be one of {', '.join(allowed)}, not {value!r}")
    return value


def _family_of(name: str, model: str, family: Family | None) -> str:
    if family is not None:
        return _one_of(name, "family", family, get_args(Family))
    if "anthropic." in model:
        return "anthropic"
    if "meta.llama" in model:
        return "llama"
    remedy = "set family to anthropic or llama, or api to converse"
    raise ValueError(
        f"llm endpoint {name!r}: model {model!r} does not tell the request format of api 'invoke': {remedy}"
    )
