"""Limits that are met as the number of conversations grows: the number that each carries, and the remedy."""

from dataclasses import dataclass

from bench.scaling.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that a growing number of conversations meets.

    Attributes:
        name: What is exhausted.
        conversations: Largest number that it carries.
        remedy: What to do before that.
    """

    name: str
    conversations: int
    remedy: str


def gpu_minutes(given: Inputs) -> float:
    """Returns the GPUs that the engines of one conversation keep busy, with room for bursts."""
    gpu_s = given.user_s * given.decode_factor / given.stt_gpu + given.reply_s / given.tts_gpu
    return gpu_s / 60 / given.gpu_load


def traffic_kb_s(given: Inputs, *, webrtc: bool = False) -> tuple[float, float]:
    """Returns the traffic of one conversation from the client and to it: the assistant speaks a part of the time."""
    up, down = (given.webrtc_kb_s,) * 2 if webrtc else (given.microphone_kb_s, given.reply_kb_s)
    return up, down * given.reply_s / 60


def gateway_conversations(given: Inputs) -> int:
    """Returns how many conversations one gateway process carries: its event loop runs on one processor."""
    return int(60 * given.load / given.loop_s)


def machine_conversations(given: Inputs, *, webrtc: bool = False) -> int:
    """Returns how many conversations the gateways on one machine carry, by processors or memory.

    Raises ValueError if it is none.
    """
    gateway_s = given.loop_s + given.threads_s + given.webrtc_s * webrtc
    by_cpu = 60 * given.load * given.machine_vcpus / gateway_s
    carried = int(min(by_cpu, 0.8 * 1000 * given.machine_gb / given.memory_mb))
    if not carried:
        raise ValueError("with these inputs, one machine does not carry a single conversation")
    return carried


def turn_tokens(given: Inputs) -> float:
    """Returns the tokens of one turn, dropped requests included."""
    return given.attempts * (given.prompt_tokens + given.answer_tokens)


def redis_writes(given: Inputs) -> float:
    """Returns the writes of a conversation to Redis in a minute."""
    return given.turns * given.redis_turn_ops + given.redis_minute_ops


def redis_conversations(given: Inputs) -> float:
    """Returns how many conversations one Redis carries, by writes or memory."""
    by_writes = 60 * given.load * given.redis_ops / redis_writes(given)
    return min(by_writes, 1e6 * given.redis_gb / given.redis_kb)


def limits(given: Inputs) -> list[Limit]:
    """Returns all limits, the first to break first."""
    alone_s = given.loop_s + given.threads_s + given.engines_s
    gateway, machine = gateway_conversations(given), machine_conversations(given)
    gpus = gpu_minutes(given)
    machines = gpus + 1 / machine
    tokens = given.turns * turn_tokens(given)
    _, down_kb_s = traffic_kb_s(given)
    balanced = given.balancer_targets * given.zones * machine
    limits = [
        Limit(
            "`server.max_sessions` as shipped", int(given.max_sessions), "raise it to what the machine carries (below)"
        ),
        Limit("one event loop", gateway, "another gateway process, one for each processor"),
        Limit(
            "one machine with its engines",
            int(60 * given.load * given.machine_vcpus / alone_s),
            "speech engines on machines of their own, a second gateway machine",
        ),
        Limit(
            "processors of one gateway machine",
            machine,
            "more machines behind a load balancer; resume tokens in Redis",
        ),
        Limit(
            "quota for GPU machines",
            int(given.gpu_quota / given.gpu_vcpus / gpus),
            "ask for a higher one weeks before, or recognize on CPUs",
        ),
        Limit("tokens a minute of an LLM service", int(given.llm_quota / tokens), "more services, or own replicas"),
        Limit(
            "quota for processors",
            int(60 * given.load * given.vcpu_quota / alone_s),
            "ask for a higher one; several Regions",
        ),
        Limit(
            "file descriptors of one proxy",
            int(given.descriptors / given.proxy_descriptors),
            "a limit of 1,048,576 (`LimitNOFILE`), or several processes",
        ),
        Limit(
            "ports from one proxy to one address",
            int(given.ports),
            "an address for each gateway, several proxies, or a load balancer that passes connections through",
        ),
        Limit(
            "connections tracked by one firewall or NAT",
            int(given.conntrack),
            "a larger `nf_conntrack_max`, no NAT in the path of the sound",
        ),
        Limit("traffic of a Region", int(1e6 * given.egress_gb_s / 8 / down_kb_s), "WebRTC, several Regions"),
        Limit("one Redis", int(redis_conversations(given)), "Redis Cluster, by conversation; a cache for each Region"),
        Limit(
            "machines of one Ray cluster, with engines on GPUs",
            int(given.ray_nodes / machines),
            "several clusters, each with its own gateways",
        ),
        Limit(
            "machines of one Kubernetes cluster",
            int(given.kubernetes_nodes / machines),
            "several clusters (cells), names by Route 53",
        ),
        Limit("machines behind one load balancer", int(balanced), "several balancers, names by Route 53"),
        Limit(
            "health checks of Route 53",
            int(given.health_checks * balanced),
            "ask for more; fewer and larger cells",
        ),
    ]
    return sorted(limits, key=lambda limit: limit.conversations)


def breaks_between(given: Inputs, carried: int, conversations: int) -> list[Limit]:
    """Returns the limits that break on the way from a number of conversations that is carried to a larger one."""
    return [limit for limit in limits(given) if carried <= limit.conversations < conversations]
