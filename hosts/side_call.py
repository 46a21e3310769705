"""
A call of our own through the user's agent, as values: what is asked, the command line, what came back.

Such a call gets no tools, no hooks, no kept session, and one text on its stdin. Who starts it is the
scheduler's; an agent's package knows its command line (`hosts/<agent>/side_call.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import AgentHomes

MARK = "TOKENECONOMIZER_SIDE_CALL"
"""Set for every side call, and inherited by its hooks: the hook client looks for it first of all."""


@dataclass(frozen=True, slots=True)
class Question:
    """
    What is asked.

    Attributes:
        instructions: our own words, the same for every call of one purpose.
        text: the digest, given on stdin.
        homes: where the agent keeps its files; for what the user set up there and has to be named to be left
            out.

    """

    instructions: str
    text: str
    homes: AgentHomes | None = None


@dataclass(frozen=True, slots=True)
class CommandLine:
    """
    How it is asked.

    Attributes:
        program: the executable's name, looked up in the user's own PATH.
        arguments: what follows it; nothing of the digest, which other users could see there.
        stdin: the digest.
        environment: further variables, beside those that the user's own agent has.
        files: what lies in the empty folder that it runs in: name -> content.

    """

    program: str
    arguments: tuple[str, ...]
    stdin: bytes
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """
    What an asked agent keeps of the call, and how it is removed again.

    Attributes:
        arguments: of one more run of the same program that removes it; empty for none.
        folders: of the agent's own, made for this call alone.

    """

    arguments: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()


NO_LEFTOVERS = Leftovers()


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What came back.

    Attributes:
        text: the model's words; empty when it gave none.
        model: its name, or empty.
        cost_usd: None where the agent does not tell.

    """

    text: str
    model: str
    cost_usd: float | None


def printed_objects(output: bytes) -> Iterator[Mapping[str, object]]:
    """Yield the JSON objects that an agent printed, one a line; other lines are passed over."""
    for line in output.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


class SideCaller(Protocol):
    """An agent that can be asked; implemented by a module, not by a class."""

    def command_line(self, question: Question) -> CommandLine:
        """Return how the question is asked."""
        ...

    def answer_in(self, output: bytes) -> Answer | None:
        """Return the answer in what the agent printed; None where it is none."""
        ...

    def leftovers(self, line: CommandLine, output: bytes, homes: AgentHomes) -> Leftovers:
        """Return what is to be removed after the call, whatever came of it; `output` may be cut short."""
        ...
