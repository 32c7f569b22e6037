"""Service `grpc`: a model on Triton by its streaming gRPC call (KServe's ModelStreamInfer). Needs the extra `grpc`."""

import itertools
import json
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Unpack, get_args

from llm.address import checked_headers
from llm.answer_length import asked_tokens
from llm.answer_text.reasoning_habit import habit_of
from llm.chat import CONNECT_TIMEOUT_S, PLAIN, ChatEvent, ChatOptions, Message, texts_of
from llm.context_limit import ContextLimit
from llm.http.request_body import NO_PARAMETERS, Parameters, checked
from llm.http.service import HttpSettings
from llm.http_errors import refuse_functions
from llm.stops import StopSequenceParser
from llm.token_deadlines import IncomingStream, StreamParser, TokenDeadlines, with_deadlines
from llm.triton.generate_stream import TEXT_OUTPUT
from llm.triton.grpc_channel import GrpcChannel
from llm.triton.kserve_messages import (
    SERVER_READY,
    SERVER_READY_REQUEST,
    STREAM_INFER,
    InputTensor,
    flag_tensor,
    float_tensor,
    int_tensor,
    request_bytes,
    text_tensor,
)
from llm.triton.kserve_stream import FINISH_REASON_OUTPUT, INPUT_TOKENS_OUTPUT, OUTPUT_TOKENS_OUTPUT, KserveStream
from llm.triton.settings import Backend

DEFAULT_MAX_TOKENS = 512
"""Longest answer if nothing is configured. vLLM's default of 16 tokens stops inside a sentence."""

STATUS_CODES = ("triton_grpc_error", "true")
"""Metadata that makes Triton (from 24.08 on) end a failed stream with a status code, in addition to the text."""

RESERVED = frozenset(
    {
        *("text_input", "stream", "exclude_input_in_output", "sampling_parameters"),
        *("return_finish_reason", "return_num_input_tokens", "return_num_output_tokens"),
    }
)
"""Inputs that `parameters` must not contain."""

_FLOATS = frozenset(
    {"temperature", "top_p", "length_penalty", "repetition_penalty", "presence_penalty", "frequency_penalty"}
)
"""Inputs of TensorRT-LLM's models that are FP32, even if an integer is configured."""
_WIDE = frozenset({"seed", "lora_task_id"})
"""Inputs of TensorRT-LLM's models that are UINT64."""


class TritonGrpcChat:
    """A ChatModel for Triton's gRPC service. It does not support functions.

    Each answer is a call of its own, so that cancelling the call cancels only that answer.

    Attributes:
        name: The endpoint's name in the configuration.
    """

    def __init__(
        self,
        name: str,
        url: str,
        model: str,
        *,
        prompt: Callable[[Sequence[Message]], str],
        stops: Sequence[str] = (),
        version: str = "",
        backend: Backend = "vllm",
        max_tokens: int | None = None,
        temperature: float | None = None,
        parameters: Parameters = NO_PARAMETERS,
        details: bool = False,
        keepalive_s: float | None = None,
        ca_file: Path | None = None,
        **settings: Unpack[HttpSettings],
    ) -> None:
        """Initializes the client without I/O.

        Args:
            name: The endpoint's name in the configuration.
            url: grpc://host:8001, or grpcs:// (https://) for TLS.
            model: The model's name on the server.
            prompt: Renders messages as the prompt: the model's chat template.
            stops: Stop sequences: the answer is cut there and the call cancelled.
            version: Version of the model; "": Triton's choice.
            backend: The backend that defines the model's inputs: Triton's vLLM or its TensorRT-LLM backend.
            max_tokens: Longest answer; None: DEFAULT_MAX_TOKENS.
            temperature: Sampling temperature; None: the backend's default.
            parameters: Additional sampling parameters under the backend's names.
            details: Whether to request the finish reason and token counts. The vLLM backend supports this from 24.12
                on; older ones reject the request.
            keepalive_s: Interval of pings on the idle connection, for a server that permits them; None: no pings. See
                Triton's options `--grpc-keepalive-permit-without-calls` and
                `--grpc-http2-min-recv-ping-interval-without-data`.
            ca_file: Certificates to trust for TLS; None: gRPC's own.
            settings: See `HttpSettings`.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
        """
        if backend not in get_args(Backend):
            allowed = ", ".join(get_args(Backend))
            raise ValueError(f"llm endpoint {name!r}: backend must be one of {allowed}, not {backend!r}")
        if details and backend != "vllm":
            raise ValueError(f"llm endpoint {name!r}: details are supported with backend vllm only: leave them out")
        if not model:
            raise ValueError(f"llm endpoint {name!r}: model must name a model of the server, not be empty")
        self.name = name
        self._context = ContextLimit(name)
        self._model = model
        self._version = version
        self._backend = backend
        self._prompt = prompt
        self._stops = tuple(stops)
        self._details = details
        defaults: dict[str, object] = {"max_tokens": max_tokens or DEFAULT_MAX_TOKENS}
        if temperature is not None:
            defaults["temperature"] = float(temperature)
        self._parameters = defaults | checked(name, parameters, reserved=RESERVED, flat=backend == "tensorrt_llm")
        # A key read from a file or a shell often ends in a newline.
        key = (settings.get("api_key") or "").strip() or None
        own_headers = checked_headers(name, settings.get("headers", {}), keyed=key is not None)
        self._secrets = (*own_headers.values(), *(() if key is None else (key,)))
        self._run = secrets.token_hex(4)  # distinguishes this client from others of the server
        self._requests = itertools.count(1)
        self._channel = GrpcChannel(
            name,
            url,
            model=model,
            api_key=key,
            headers=own_headers,
            connect_timeout_s=settings.get("connect_timeout_s", CONNECT_TIMEOUT_S),
            keepalive_s=keepalive_s,
            ca_file=ca_file,
        )
        self._deadlines = TokenDeadlines.of(name, self._channel.where, settings)
        self._inputs("", None)  # reports invalid parameters at construction

    @property
    def detail(self) -> str:
        """Kind, model and address."""
        return f"grpc {self._model} at {self._channel.where}"

    async def load(self) -> None:
        """Opens the connection. Call it again when speech starts, to check that it is still open. Never fails."""
        await self._channel.warm(SERVER_READY, SERVER_READY_REQUEST)

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`. Raises LlmRefused for functions."""
        most = asked_tokens(options, None, self._parameters, always=True)
        return self._context.ask(
            lambda fitting: with_deadlines(lambda: self._ask(fitting, options), self._deadlines, most), messages
        )

    async def aclose(self) -> None:
        """Closes the connection. Idempotent; bounded in time."""
        await self._channel.aclose()

    def _ask(self, messages: Sequence[Message], options: ChatOptions) -> tuple[IncomingStream, StreamParser]:
        why = "a Triton model does not support functions: use a service that does, or no tools"
        refuse_functions(self.name, options, why)
        private = (*texts_of(messages), *self._secrets)
        request_id = f"repartee-{self._run}-{next(self._requests)}"
        prompt = self._prompt(messages)
        stream = KserveStream(
            self.name,
            where=self._channel.where,
            model=self._model,
            request_id=request_id,
            private=private,
            habit=habit_of(prompt, self._stops),
        )
        inputs = self._inputs(prompt, options.max_tokens)
        request = request_bytes(self._model, self._version, request_id, inputs, self._outputs)
        metadata = (STATUS_CODES, *options.headers.items())
        incoming = self._channel.ask(STREAM_INFER, request, metadata=metadata, private=private)
        return incoming, StopSequenceParser(self.name, stream, self._stops, read_on=False)

    @property
    def _outputs(self) -> tuple[str, ...]:
        """The requested outputs. They are listed because a model may also have large unused ones, such as logits."""
        more = (FINISH_REASON_OUTPUT, INPUT_TOKENS_OUTPUT, OUTPUT_TOKENS_OUTPUT) if self._details else ()
        return (TEXT_OUTPUT, *more)

    def _inputs(self, prompt: str, max_tokens: int | None) -> list[InputTensor]:
        """Returns the input tensors. Raises ValueError for a parameter that the backend's inputs cannot carry."""
        parameters = self._parameters if not max_tokens else {**self._parameters, "max_tokens": max_tokens}
        # TensorRT-LLM's models have a batch dimension, vLLM's have none.
        shape = (1,) if self._backend == "vllm" else (1, 1)
        inputs = [
            text_tensor("text_input", prompt, shape),
            flag_tensor("stream", True, shape),
            flag_tensor("exclude_input_in_output", True, shape),
        ]
        if self._backend == "vllm":
            inputs.append(text_tensor("sampling_parameters", json.dumps(parameters), shape))
            asked = ("return_finish_reason", "return_num_input_tokens", "return_num_output_tokens")
            return inputs + [flag_tensor(name, True, shape) for name in asked if self._details]
        return inputs + [_tensor(self.name, name, value, shape) for name, value in parameters.items()]


def _tensor(endpoint: str, name: str, value: object, shape: tuple[int, ...]) -> InputTensor:
    """Returns a parameter as an input tensor. Raises ValueError for a number out of range."""
    if isinstance(value, bool):
        return flag_tensor(name, value, shape)
    if isinstance(value, str):
        return text_tensor(name, value, shape)
    if isinstance(value, float) or name in _FLOATS:
        assert isinstance(value, int | float)
        return float_tensor(name, value, shape)
    assert isinstance(value, int)  # the parameters were checked
    try:
        return int_tensor(name, value, shape, datatype="UINT64" if name in _WIDE else "INT32")
    except ValueError as error:
        raise ValueError(f"llm endpoint {endpoint!r}: parameters: {error}") from error
