"""Inputs of bench.scale: what one conversation costs, limits of services, and list prices, each with its source.

"measured" figures come from a bench of this repository, "assumption" from nobody's measurement here, "limit" from the
defaults of a system or service, "list price" from a price list. `--set NAME=VALUE` replaces any of them.
"""

from dataclasses import dataclass, fields
from math import isfinite
from typing import Annotated, Literal, get_args, get_type_hints

Kind = Literal["measured", "assumption", "limit", "list price"]

PRICES_OF = "2025-07"
"""Month of the list prices: on demand, us-east-1."""

SESSIONS = (
    "16 at once, `python -m bench.under_load.load`, two cores"
    " ([performance](../performance.md#many-conversations-at-once))"
)


SHARES = frozenset({"cached_share", "load", "gpu_load"})
"""Inputs that are at most 1."""


@dataclass(frozen=True, slots=True)
class About:
    """Meaning of one input.

    Attributes:
        text: What it is.
        unit: Its unit.
        kind: Where it comes from.
        source: The source, in Markdown.
    """

    text: str
    unit: str
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs, in the order in which they are shown."""

    loop_s: Annotated[
        float, About("event loop of a gateway, for each minute of a conversation", "CPU s", "measured", SESSIONS)
    ] = 1.44
    threads_s: Annotated[
        float, About("other threads of a gateway (Smart Turn, traces)", "CPU s", "measured", SESSIONS)
    ] = 0.51
    engines_s: Annotated[
        float, About("recognizer `tiny.en` and voice espeak-ng on the CPU", "CPU s", "measured", SESSIONS)
    ] = 1.61
    piper_s: Annotated[
        float,
        About(
            "what Piper takes more than espeak-ng", "CPU s", "measured", "eight at once ([tts](tts.md)), 6.2 less 2.7"
        ),
    ] = 3.5
    webrtc_s: Annotated[
        float,
        About("what a WebRTC call takes more than a WebSocket", "CPU s", "measured", "[webrtc](webrtc.md)"),
    ] = 1.4
    turns: Annotated[
        float, About("turns in a minute", "turns", "measured", "`python -m bench.serve`: 32 in 4.2 minutes")
    ] = 7.6
    memory_mb: Annotated[
        float,
        About("memory of a conversation in its gateway", "MB", "measured", SESSIONS),
    ] = 4.6
    user_s: Annotated[float, About("speech of the user in a minute", "s", "assumption", "a dialog with pauses")] = 20.0
    reply_s: Annotated[float, About("speech of the assistant in a minute", "s", "assumption", "the same")] = 25.0
    microphone_kb_s: Annotated[
        float,
        About(
            "sound from the client: PCM16, 24 kHz, base64 in 20 ms events",
            "kB/s",
            "assumption",
            "48 kB/s, a third more in base64, 150 bytes of JSON, WebSocket, TLS and TCP for each of 50 events",
        ),
    ] = 71.5
    reply_kb_s: Annotated[
        float, About("sound to the client while the assistant speaks", "kB/s", "assumption", "the same")
    ] = 71.5
    webrtc_kb_s: Annotated[
        float,
        About(
            "the same by WebRTC, in either direction", "kB/s", "assumption", "Opus at 24 kbit/s, RTP and UDP headers"
        ),
    ] = 5.5
    prompt_tokens: Annotated[
        float,
        About("prompt of a turn", "tokens", "assumption", "instructions, and half of `llm.max_history_tokens`"),
    ] = 1100.0
    cached_share: Annotated[
        float,
        About("share of the prompt that the service has cached", "", "assumption", "prompts only grow at their end"),
    ] = 0.9
    answer_tokens: Annotated[float, About("answer of a turn", "tokens", "assumption", "two short sentences")] = 40.0
    attempts: Annotated[
        float,
        About("requests for a turn, dropped ones included", "", "assumption", "a speculative one in three turns lost"),
    ] = 1.3

    load: Annotated[
        float,
        About("load of a processor at which latency is still kept", "", "assumption", "16 conversations on two cores"),
    ] = 0.5
    gpu_load: Annotated[float, About("the same of a GPU", "", "assumption", "batches wait for each other")] = 0.6
    decode_factor: Annotated[
        float,
        About("decoded for each second of speech, interim ones included", "s", "assumption", "a recheck and a draft"),
    ] = 2.0
    stt_gpu: Annotated[
        float,
        About(
            "speech that `large-v3-turbo` (float16) decodes on an L4 in a second",
            "s",
            "assumption",
            "half of the 41 s that faster-whisper's README states for a long file on an RTX 3070 Ti",
        ),
    ] = 20.0
    tts_gpu: Annotated[
        float,
        About(
            "speech that Piper makes on an L4 in a second", "s", "assumption", "five times one CPU core ([tts](tts.md))"
        ),
    ] = 100.0
    llm_tokens_s: Annotated[
        float,
        About(
            "tokens that a model of 8 B parameters writes on an H100 in a second, at the pace of speech",
            "tokens",
            "assumption",
            "a third of the 12,500 that benchmarks of vLLM state for full batches",
        ),
    ] = 4000.0
    llm_prefill_s: Annotated[
        float,
        About("new prompt tokens that it reads in a second", "tokens", "assumption", "compute-bound, beside answers"),
    ] = 20000.0

    max_sessions: Annotated[
        float, About("`server.max_sessions` as shipped", "", "limit", "[configuration](../configuration.md)")
    ] = 32.0
    machine_vcpus: Annotated[float, About("processors of a machine (c7i.4xlarge)", "vCPU", "limit", "AWS")] = 16.0
    machine_gb: Annotated[float, About("memory of that machine", "GB", "limit", "AWS")] = 32.0
    descriptors: Annotated[
        float, About("open files of a proxy", "", "limit", "`LimitNOFILE` as in `deploy/systemd/repartee.service`")
    ] = 65536.0
    proxy_descriptors: Annotated[
        float, About("of these, for each conversation", "", "limit", "a socket to the client, one to the gateway")
    ] = 2.0
    ports: Annotated[
        float,
        About("connections from a proxy to one address", "", "limit", "Linux: `ip_local_port_range` 32768 to 60999"),
    ] = 28232.0
    conntrack: Annotated[
        float, About("connections that a firewall tracks", "", "limit", "Linux: `nf_conntrack_max` from 8 GB on")
    ] = 262144.0
    redis_ops: Annotated[
        float, About("scripts of one Redis in a second", "", "assumption", "half of the commands of its own benchmark")
    ] = 50000.0
    redis_turn_ops: Annotated[
        float, About("writes of a turn", "", "limit", "the conversation, once ([gateways](../gateways.md))")
    ] = 1.0
    redis_minute_ops: Annotated[
        float, About("renewals of a conversation in a minute", "", "limit", "every 5 s ([gateways](../gateways.md))")
    ] = 12.0
    redis_gb: Annotated[float, About("memory of a Redis node (cache.r7g.large)", "GB", "limit", "AWS")] = 13.0
    redis_kb: Annotated[
        float, About("state of a conversation that can be resumed", "kB", "assumption", "its history and settings")
    ] = 16.0
    ray_nodes: Annotated[
        float, About("machines of one Ray cluster, gateways included", "", "limit", "Ray's scalability envelope")
    ] = 2000.0
    kubernetes_nodes: Annotated[
        float, About("machines of one Kubernetes cluster", "", "limit", "Kubernetes, large clusters")
    ] = 5000.0
    balancer_targets: Annotated[
        float, About("machines behind a network load balancer, for each zone", "", "limit", "AWS, default quota")
    ] = 500.0
    zones: Annotated[float, About("zones", "", "assumption", "")] = 3.0
    vcpu_quota: Annotated[
        float, About("vCPUs of a Region that an account may use", "vCPU", "limit", "AWS; new accounts have far fewer")
    ] = 1152.0
    gpu_quota: Annotated[
        float, About("the same for GPU machines (G)", "vCPU", "limit", "AWS, after a first increase; at first 0")
    ] = 64.0
    gpu_vcpus: Annotated[float, About("processors of a GPU machine (g6.xlarge, one L4)", "vCPU", "limit", "AWS")] = 4.0
    llm_quota: Annotated[
        float,
        About(
            "tokens that an LLM service accepts in a minute",
            "tokens",
            "limit",
            "a high tier of OpenAI; lower ones less",
        ),
    ] = 10e6
    health_checks: Annotated[
        float, About("health checks of Route 53, one for each Region's balancer", "", "limit", "AWS, default quota")
    ] = 200.0
    egress_gb_s: Annotated[
        float,
        About("traffic to the internet of a Region by agreement", "Gb/s", "assumption", "ask the provider before"),
    ] = 100.0

    machine_price: Annotated[float, About("c7i.4xlarge", "$/h", "list price", "AWS")] = 0.714
    gpu_price: Annotated[float, About("g6.xlarge, one L4", "$/h", "list price", "AWS")] = 0.805
    llm_gpu_price: Annotated[float, About("an H100 (p5.4xlarge)", "$/h", "list price", "AWS")] = 6.88
    redis_price: Annotated[float, About("cache.r7g.large", "$/h", "list price", "AWS")] = 0.219
    balancer_price: Annotated[
        float, About("network load balancer, for each GB in an hour (one NLCU)", "$", "list price", "AWS")
    ] = 0.006
    egress_price: Annotated[
        float, About("traffic to the internet, beyond the first 150 TB of a month", "$/GB", "list price", "AWS")
    ] = 0.05
    input_price: Annotated[float, About("new tokens of prompts (gpt-4o-mini)", "$/million", "list price", "OpenAI")] = (
        0.15
    )
    cached_price: Annotated[float, About("cached tokens", "$/million", "list price", "OpenAI")] = 0.075
    output_price: Annotated[float, About("tokens of answers", "$/million", "list price", "OpenAI")] = 0.60

    def __post_init__(self) -> None:
        """Raises ValueError for a value that is not above 0, or a share above 1."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0 or not isfinite(value):
                raise ValueError(f"{field.name} must be a number above 0")
            if field.name in SHARES and value > 1:
                raise ValueError(f"{field.name} is a share: at most 1")


ABOUT: dict[str, About] = {
    name: get_args(hint)[1] for name, hint in get_type_hints(Inputs, include_extras=True).items()
}
"""Meaning of each input, by name."""
