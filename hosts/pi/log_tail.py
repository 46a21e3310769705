"""The end of a session's file, read while the agent waits: what the turn that was found open had called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.pi.log_entries import records_of
from tokeneconomizer.hosts.steps import calls_after_prompt, steps_of
from tokeneconomizer.hosts.tail_lines import from_the_line_that_names, object_in

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
    # The first line that names the prompt is its own; nothing before it need be decoded.
    lines = from_the_line_that_names(transcript_tail, prompt_id).split(b"\n")
    return calls_after_prompt(steps_of(_records(lines)), prompt_id)


def _records(lines: Iterable[bytes]) -> Iterator[Record]:
    for number, raw in enumerate(lines, start=1):
        line = object_in(raw)
        if line is not None:
            yield from records_of(number, line)
