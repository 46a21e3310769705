"""The end of a session's file, read while the agent waits: what the turn that was found open had called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.hosts.pi.log_entries import records_of
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep
from tokeneconomizer.hosts.steps import steps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.records import Record


def settled(command: HookCommand, _transcript_tail: bytes) -> HookCommand:
    """Return the command as it is: the extension sees how each call ended."""
    return command


def calls_of_turn(transcript_tail: bytes, prompt_id: str) -> tuple[Call, ...]:
    """Return the calls with results that follow one prompt; see `hosts.host.Host.calls_of_turn`."""
    calls: list[Call] = []
    is_in_turn = False
    # The first line that names the prompt is its own; nothing before it need be decoded.
    named_at = transcript_tail.find(prompt_id.encode(errors="surrogatepass")) if prompt_id else -1
    if named_at < 0:
        return ()
    begin = transcript_tail.rfind(b"\n", 0, named_at) + 1
    for record in steps_of(_records(transcript_tail[begin:].split(b"\n"))):
        if isinstance(record, LoggedPrompt):
            is_in_turn = record.prompt_id == prompt_id
        elif isinstance(record, LoggedStep) and is_in_turn:
            calls += record.calls
    return tuple(calls)


def _records(lines: Iterable[bytes]) -> Iterator[Record]:
    for number, raw in enumerate(lines, start=1):
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:
            continue
        if isinstance(line, dict):
            yield from records_of(number, line)
