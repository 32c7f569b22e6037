"""Limits that are met as the number of conversations grows: the number that each carries, and the remedy."""

from dataclasses import dataclass

from bench.scale_inputs import Inputs


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


def gateway_conversations(given: Inputs) -> int:
    """Returns how many conversations one gateway process carries: its event loop runs on one processor."""
    return int(60 * given.load / given.loop_s)


def machine_conversations(given: Inputs, *, webrtc: bool = False) -> int:
    """Returns how many conversations the gateways on one machine carry, by processors or memory."""
    gateway_s = given.loop_s + given.threads_s + given.webrtc_s * webrtc
    by_cpu = 60 * given.load * given.machine_vcpus / gateway_s
    return int(min(by_cpu, 0.8 * 1000 * given.machine_gb / given.memory_mb))


def turn_tokens(given: Inputs) -> float:
    """Returns the tokens of one turn, dropped requests included."""
    return given.attempts * (given.prompt_tokens + given.answer_tokens)


def redis_writes(given: Inputs) -> float:
    """Returns the writes of a conversation to Redis in a minute."""
    return given.turns * given.redis_turn_ops + given.redis_minute_ops


def limits(given: Inputs) -> list[Limit]:
    """Returns all limits, the first to break first."""
    alone_s = given.loop_s + given.threads_s + given.engines_s
    gateway, machine = gateway_conversations(given), machine_conversations(given)
    gpu_s = given.user_s * given.decode_factor / given.stt_gpu + given.reply_s / given.tts_gpu
    gpu = 60 * given.gpu_load / gpu_s
    redis = min(60 * given.redis_ops / redis_writes(given), 1e6 * given.redis_gb / given.redis_kb)
    tokens = given.turns * turn_tokens(given)
    down_kb_s = given.reply_kb_s * given.reply_s / 60
    balanced = given.balancer_targets * given.zones * machine
    found = [
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
            int(given.gpu_quota / given.gpu_vcpus * gpu),
            "ask for a higher one weeks before, or recognize on CPUs",
        ),
        Limit("tokens a minute of an LLM service", int(given.llm_quota / tokens), "more services, or own replicas"),
        Limit(
            "quota for processors",
            int(60 * given.load * given.vcpu_quota / alone_s),
            "ask for a higher one; several Regions",
        ),
        Limit(
            "file descriptors of one process, such as a proxy",
            int(given.descriptors / given.session_descriptors),
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
        Limit("one Redis", int(redis), "Redis Cluster, by conversation; a cache for each Region"),
        Limit("machines behind one load balancer", int(balanced), "several balancers, names by Route 53"),
        Limit(
            "health checks of Route 53",
            int(given.health_checks * balanced),
            "ask for more; fewer and larger cells",
        ),
    ]
    return sorted(found, key=lambda limit: limit.conversations)


def breaks_until(given: Inputs, conversations: int) -> list[Limit]:
    """Returns the limits that break on the way from a tenth of this number of conversations to it."""
    return [limit for limit in limits(given) if conversations / 10 <= limit.conversations < conversations]
