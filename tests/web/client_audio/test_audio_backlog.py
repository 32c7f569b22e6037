"""Order and bounds of the queue for audio that is ahead of real time."""

import pytest
from support.clocks.virtual_time import run_virtual

from assistant.history.items import ItemId
from web.client_audio import audio_backlog
from web.client_audio.audio_backlog import AudioBacklog, BacklogRoom
from web.wire.incoming.commands import (
    Append,
    CancelResponse,
    ClearInput,
    Command,
    CommitInput,
    CreateResponse,
    ResponseOptions,
    RetrieveItem,
)
from web.wire.values.session_config import AudioFormat

COMMIT, CLEAR = CommitInput(None), ClearInput(None)
CANCEL, RETRIEVE = CancelResponse(None, None), RetrieveItem(None, ItemId("item"))
RESPOND = CreateResponse(None, ResponseOptions())


def sound(size: int = 1000) -> Append:
    return Append(None, bytes(size), AudioFormat.PCM)


def taken(backlog: AudioBacklog) -> list[Command]:
    """Takes everything from the backlog, in order."""

    async def main() -> list[Command]:
        commands = []
        while not backlog.empty:
            commands.append(await backlog.first())
            backlog.done(commands[-1])
        return commands

    return run_virtual(main())


@pytest.mark.parametrize("command", [COMMIT, CLEAR, RESPOND], ids=["commit", "clear", "response"])
def test_audio_commands_wait_for_queued_audio(command: Command) -> None:
    backlog = AudioBacklog()
    assert not backlog.must_wait(command)
    assert backlog.must_wait(command, behind=True)
    backlog.append_command(sound())
    assert backlog.must_wait(command)


def test_other_commands_wait_for_a_commit_but_not_for_audio() -> None:
    backlog = AudioBacklog()
    backlog.append_command(sound())
    assert not backlog.must_wait(CANCEL)
    assert not backlog.must_wait(RETRIEVE)
    backlog.append_command(COMMIT)
    assert backlog.must_wait(CANCEL)
    assert backlog.must_wait(RETRIEVE)


def test_queued_commands_are_taken_in_order() -> None:
    backlog = AudioBacklog()
    commands: list[Command] = [sound(), COMMIT, RESPOND, sound(), CANCEL]
    for command in commands:
        backlog.append_command(command)
    assert taken(backlog) == commands


def test_clear_drops_uncommitted_audio_only() -> None:
    backlog = AudioBacklog()
    committed, cleared = sound(), sound()
    sent: list[Command] = [committed, COMMIT, cleared, CLEAR]
    for command in sent:
        backlog.append_command(command)
    assert not backlog.is_wanted(cleared)
    assert taken(backlog) == [committed, COMMIT, CLEAR]


def test_audio_dropped_while_it_is_taken_is_not_wanted() -> None:
    backlog, first = AudioBacklog(), sound()
    backlog.append_command(first)
    assert backlog.is_wanted(first)
    backlog.append_command(CLEAR)
    assert not backlog.is_wanted(first)
    backlog.done(first)
    assert taken(backlog) == [CLEAR]


def test_backlog_is_full_at_its_bound_and_empty_after_close() -> None:
    room = BacklogRoom()
    backlog = AudioBacklog(room)
    backlog.append_command(sound(audio_backlog.MAX_BYTES - 1))
    assert not backlog.full
    backlog.append_command(sound())
    assert backlog.full
    backlog.close()
    assert backlog.empty
    assert room.bytes == 0


def test_total_backlog_bound_leaves_each_client_a_share() -> None:
    room = BacklogRoom()
    many = [AudioBacklog(room) for _ in range(9)]
    for backlog in many[:8]:
        backlog.append_command(sound(audio_backlog.MAX_BYTES_OF_ALL // 8))
    many[8].append_command(sound(audio_backlog.MIN_BYTES - 1))
    assert not many[8].full
    many[8].append_command(sound())
    assert many[8].full
    many[0].close()
    assert not many[8].full
