"""Takes the snapshot of a running session, and continues a session from one."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from assistant.config.mcp_hosts import McpHosts
from assistant.pipeline.session import Session
from assistant.setup.build import local_now
from assistant.skills.lists.items import ListItem
from assistant.skills.timers.stored_timers import StoredTimer, entry_of, row_of
from assistant.skills.timers.timers import Timers
from web.handover.claims import Claimed
from web.handover.handovers import Handovers
from web.handover.keeper import RENEW_EVERY_S, HandoverKeeper
from web.handover.snapshot import Snapshot
from web.session.realtime_session import RealtimeSession
from web.wire.values.session_config import SessionConfig


def keeper_of(
    handovers: Handovers,
    token: str,
    realtime_session: RealtimeSession,
    tell: Callable[[str], None],
    *,
    is_guest: bool,
    resume_s: float,
    claimed: Claimed | None,
) -> HandoverKeeper:
    """Returns what keeps the session's snapshot in Redis. Set its `on_taken` before it runs.

    Args:
        handovers: Writes to Redis.
        token: The session's resume token.
        realtime_session: The session.
        tell: Tells the client a sentence.
        is_guest: Whether it was opened with a client secret.
        resume_s: How long it can be resumed.
        claimed: What it continues; None: it is new.
    """
    keeper = HandoverKeeper(
        handovers,
        token,
        lambda: snapshot_of(realtime_session, is_guest=is_guest),
        lambda: None,
        tell,
        renew_every_s=min(RENEW_EVERY_S, resume_s / 3),
    )
    if claimed is not None:
        keeper.owner = claimed.owner
        keeper.note_change()  # what Redis has is the other gateway's
    return keeper


def snapshot_of(realtime_session: RealtimeSession, *, is_guest: bool) -> Snapshot:
    """Returns the session as it is now."""
    session, realtime = realtime_session.session, realtime_session.realtime
    return Snapshot(
        realtime.session_id,
        realtime.config,
        session.history_snapshot(),
        session.turns.last_turn_number,
        _timers_of(session),
        _lists_of(session),
        is_guest,
    )


def config_of(snapshot: Snapshot, *, voice: str, mcp_hosts: McpHosts) -> SessionConfig:
    """Returns the client's settings with what is this gateway's: the name of its voice, and its MCP hosts."""
    return replace(snapshot.config, voice=voice, mcp_hosts=mcp_hosts)


def continue_session(realtime_session: RealtimeSession, snapshot: Snapshot) -> None:
    """Puts a configured session, which does not run yet, into the state of the snapshot, and tells its client.

    The client's sound is counted anew, so all that it has sent before counts as not received.
    """
    session = realtime_session.session
    session.history.continue_from(snapshot.history)
    session.turns.continue_after(snapshot.last_turn)
    session.context.settings = replace(session.context.settings, greeting="")
    timers = session.engines.skill_effects.timers
    if isinstance(timers, Timers):
        now_s, now = asyncio.get_running_loop().time(), local_now()
        timers.restore(entry_of(number, row, now_s, now) for number, row in enumerate(snapshot.timers, 1))
    lists = session.engines.skill_effects.lists
    if not lists.shared:
        lists.restore(snapshot.lists)
    realtime_session.realtime.begin(session.history.items, resumed=True)


def _lists_of(session: Session) -> tuple[ListItem, ...]:
    lists = session.engines.skill_effects.lists
    return () if lists.shared else lists.items


def _timers_of(session: Session) -> tuple[StoredTimer, ...]:
    timers = session.engines.skill_effects.timers
    if not isinstance(timers, Timers) or not timers.any_set:
        return ()
    now_s, now = asyncio.get_running_loop().time(), local_now()
    return tuple(row_of("", entry, now_s, now) for entry in timers.entries)
