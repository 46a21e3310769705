"""What a turn invoked: records of tool calls as every runtime keeps them, their classes and their tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

from tokeneconomizer.domain.accounting.json_text import json_text, utf16_length
from tokeneconomizer.domain.accounting.snapshot import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

UNITS_PER_TOKEN = 4
"""Bytes of a file, or UTF-16 units of a call, for one token: the contract's estimate for all runtimes."""

SKILL_TOOL = "Skill"
"""The tool by which an agent loads a skill, named in its field `skill`."""

MCP_PREFIX = "mcp__"

UNKNOWN_SERVER = "unknown"

_BEFORE_NAME = re.compile(r"^[\s/]+")


@dataclass(frozen=True, slots=True)
class ToolInvocationRecord:
    """
    One tool call with its result, where it came back.

    Attributes:
        tool_use_id: the runtime's id of the call.
        tool_name: as the model called it.
        input: JSON values, as the model gave them.
        result_content: the text that the model got; None when no result came.

    """

    tool_use_id: str
    tool_name: str
    input: object
    result_content: str | None = None


class ToolUse(NamedTuple):
    """The class of a call: its kind, and the skill, server or tool by whose name it is counted."""

    kind: Kind
    name: str


class ToolInvocationAccumulator:
    """Collects the calls of one turn, in whatever order uses and results arrive."""

    def __init__(self) -> None:
        self._uses: dict[str, tuple[str, object]] = {}
        self._results: dict[str, str] = {}

    def record_tool_use(self, tool_use_id: str, tool_name: str, input: object) -> None:  # noqa: A002 - the contract's name
        """Take a call; one of a known id takes its place."""
        self._uses[tool_use_id] = (tool_name, input)

    def record_tool_result(self, tool_use_id: str, content: str) -> None:
        """Take a result, which counts when its call is known by the end of the turn."""
        self._results[tool_use_id] = content

    def drain(self) -> tuple[ToolInvocationRecord, ...]:
        """Return the turn's records, and begin the next turn with none."""
        records = tuple(
            ToolInvocationRecord(tool_use_id, tool_name, value, self._results.get(tool_use_id))
            for tool_use_id, (tool_name, value) in self._uses.items()
        )
        self._uses, self._results = {}, {}
        return records


@dataclass(slots=True)
class Invoked:
    """
    What a turn invoked, summed; it grows with the number of different tools alone.

    Attributes:
        sums: kind -> name -> how many calls, and their tokens.

    """

    sums: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.sums.values()))

    def __contains__(self, use: ToolUse) -> bool:
        return use.name in self.sums.get(use.kind.value, {})

    @classmethod
    def by(cls, records: Iterable[ToolInvocationRecord]) -> Self:
        """Sum records."""
        invoked = cls()
        for record in records:
            invoked.add(classify_tool_use(record), tokens_of(record))
        return invoked

    def add(self, use: ToolUse, tokens: int) -> None:
        """Take one call."""
        names = self.sums.setdefault(use.kind.value, {})
        count, sum_of_tokens = names.get(use.name, (0, 0))
        names[use.name] = (count + 1, sum_of_tokens + tokens)

    def of_kind(self, kind: Kind) -> list[tuple[str, int, int]]:
        """Return name, calls and tokens of a kind's uses, sorted by name."""
        return sorted((name, *sums) for name, sums in self.sums.get(kind.value, {}).items())


def classify_tool_use(record: ToolInvocationRecord) -> ToolUse:
    """Return what the call counts as."""
    return class_of(record.tool_name, skill_named_in(record.input))


def class_of(tool_name: str, skill: str) -> ToolUse:
    """Return what a call of the tool counts as; `skill` is the one that it names, or empty."""
    if tool_name == SKILL_TOOL:
        return ToolUse(Kind.SKILLS, canonicalize_skill_name(skill))
    if tool_name.startswith(MCP_PREFIX):
        server = tool_name.removeprefix(MCP_PREFIX).partition("__")[0]
        return ToolUse(Kind.MCP, server or UNKNOWN_SERVER)
    return ToolUse(Kind.TOOLS, tool_name)


def skill_named_in(input: object) -> str:  # noqa: A002 - the contract's name
    """Return the skill that a call's input names, as it stands there; empty when it names none."""
    named = input.get("skill") if isinstance(input, Mapping) else None
    return named if isinstance(named, str) else ""


def canonicalize_skill_name(value: object) -> str:
    """Return the form by which names of skills are compared; empty for what is no name."""
    return _BEFORE_NAME.sub("", value).rstrip().lower() if isinstance(value, str) else ""


def tokens_of(record: ToolInvocationRecord) -> int:
    """Return a call's tokens; without a result those of its input."""
    result = utf16_length(record.result_content or "")
    return tokens_in(utf16_length(json_text(record.input)) + result)


def tokens_in(units: int) -> int:
    """Return the tokens of so many UTF-16 units or bytes, rounded up."""
    return -(-units // UNITS_PER_TOKEN)
