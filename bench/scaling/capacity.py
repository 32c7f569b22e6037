"""Machines, traffic and cost of a number of concurrent conversations, from the inputs of one."""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from bench.scaling.inputs import Inputs
from bench.scaling.limits import gpu_minutes, machine_conversations, redis_conversations, traffic_kb_s

EngineChoice = Literal["cpu", "cpu with Piper", "gpu"]
LlmChoice = Literal["service", "own"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of the language model in a minute.

    Attributes:
        new: Tokens of prompts that are not cached.
        cached: Tokens of prompts that are.
        answers: Tokens of answers.
    """

    new: float
    cached: float
    answers: float

    @property
    def all(self) -> float:
        """All tokens."""
        return self.new + self.cached + self.answers


@dataclass(frozen=True, slots=True)
class Capacity:
    """Machines, traffic and cost of a number of concurrent conversations.

    Attributes:
        conversations: Their number.
        gateways: Machines for gateways.
        cpu_engines: Machines for engines on CPUs, `tiny.en` and espeak-ng.
        piper_engines: The same with Piper.
        gpu_engines: Machines with a GPU, `large-v3-turbo` and Piper; in place of those with CPUs.
        redis: Redis nodes, each with a replica.
        llm_replicas: GPUs of an own language model; in place of a service.
        tokens: Tokens in a minute.
        up_gb_s: Traffic from the clients, Gb/s.
        down_gb_s: Traffic to the clients, Gb/s.
        balanced_gb: GB an hour through the load balancer.
        sent_gb: GB an hour to the internet.
    """

    conversations: int
    gateways: int
    cpu_engines: int
    piper_engines: int
    gpu_engines: int
    redis: int
    llm_replicas: int
    tokens: Tokens
    up_gb_s: float
    down_gb_s: float
    balanced_gb: float
    sent_gb: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost in $ an hour of all conversations, by part."""

    gateways: float
    engines: float
    redis: float
    network: float
    llm: float

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.gateways + self.engines + self.redis + self.network + self.llm


def capacity(given: Inputs, conversations: int, *, webrtc: bool = False) -> Capacity:
    """Returns what this number of conversations needs. `webrtc`: sound by WebRTC in place of WebSockets.

    Raises ValueError if a machine does not carry a single one.
    """
    up_kb_s, down_kb_s = traffic_kb_s(given, webrtc=webrtc)
    requests = conversations * given.turns * given.attempts
    prompts = requests * given.prompt_tokens
    tokens = Tokens(prompts * (1 - given.cached_share), prompts * given.cached_share, requests * given.answer_tokens)
    llm = (tokens.answers / given.llm_tokens_s + tokens.new / given.llm_prefill_s) / 60 / given.gpu_load
    hour = conversations * 3600 / 1e6
    machine_s = 60 * given.load * given.machine_vcpus
    return Capacity(
        conversations,
        gateways=ceil(conversations / machine_conversations(given, webrtc=webrtc)),
        cpu_engines=ceil(conversations * given.engines_s / machine_s),
        piper_engines=ceil(conversations * (given.engines_s + given.piper_s) / machine_s),
        gpu_engines=ceil(conversations * gpu_minutes(given)),
        redis=2 * ceil(conversations / redis_conversations(given)),
        llm_replicas=ceil(llm),
        tokens=tokens,
        up_gb_s=conversations * up_kb_s * 8 / 1e6,
        down_gb_s=conversations * down_kb_s * 8 / 1e6,
        balanced_gb=hour * (up_kb_s + down_kb_s),
        sent_gb=hour * down_kb_s,
    )


def cost(given: Inputs, needed: Capacity, engines: EngineChoice = "gpu", llm: LlmChoice = "service") -> Cost:
    """Returns the cost of what is needed."""
    tokens = needed.tokens
    service = (
        60
        / 1e6
        * (tokens.new * given.input_price + tokens.cached * given.cached_price + tokens.answers * given.output_price)
    )
    machines = {
        "gpu": needed.gpu_engines * given.gpu_price,
        "cpu": needed.cpu_engines * given.machine_price,
        "cpu with Piper": needed.piper_engines * given.machine_price,
    }
    return Cost(
        gateways=needed.gateways * given.machine_price,
        engines=machines[engines],
        redis=needed.redis * given.redis_price,
        network=needed.balanced_gb * given.balancer_price + needed.sent_gb * given.egress_price,
        llm=service if llm == "service" else needed.llm_replicas * given.llm_gpu_price,
    )
