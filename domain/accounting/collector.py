"""The one collector of all runtimes: from what a turn invoked to its snapshot."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.invocations import Invoked, tokens_in
from tokeneconomizer.domain.accounting.skills import find_skills
from tokeneconomizer.domain.accounting.snapshot import (
    KINDS,
    ContextAccountingEntry,
    Kind,
    RuntimeContextAccountingSnapshot,
    checked_kinds,
    checked_producer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokeneconomizer.domain.accounting.files import ContextFiles
    from tokeneconomizer.domain.accounting.invocations import ToolInvocationRecord

NOT_IN_CALLS = (Kind.SYSTEM_PROMPT, Kind.MEMORY, Kind.FILES_ATTACHMENTS)
"""No tool call shows these: a runtime that has no other way to count them cannot."""

DEFAULT_RULES_FILES = ("CLAUDE.md",)

SOURCE_JOINT = " + "
DETAIL_JOINT = ", "


@dataclass(frozen=True, slots=True)
class TurnOfRuntime:
    """
    All that a runtime supplies about a turn, beside its calls.

    Attributes:
        workspace_path: absolute.
        produced_by: one of PRODUCERS.
        provider_backend: what tells the runtime further, or None.
        selected_skills: picked by hand for this turn.
        unsupported: kinds that this runtime cannot count.
        rules_files: those that it loads; relative to the workspace, or absolute.
        counted: kinds that the runtime itself told, which beats any estimate; none is unsupported.

    Raises:
        BadAccounting: a name is none of the contract's.

    """

    workspace_path: str
    produced_by: str
    provider_backend: str | None = None
    selected_skills: Sequence[str] = ()
    unsupported: Sequence[str] = NOT_IN_CALLS
    rules_files: Sequence[str] = DEFAULT_RULES_FILES
    counted: Mapping[Kind, ContextAccountingEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_producer(self.produced_by)
        checked_kinds(self.unsupported)


def collect_auto_invoke_snapshot(
    records: Iterable[ToolInvocationRecord], turn: TurnOfRuntime, files: ContextFiles
) -> RuntimeContextAccountingSnapshot:
    """
    Return the snapshot of a turn that is over.

    Args:
        records: what the turn's accumulator drained.
        turn: what the runtime knows beside them.
        files: where sizes of rules and skills are looked up.

    """
    return snapshot_of(Invoked.by(records), turn, files)


def snapshot_of(
    invoked: Invoked, turn: TurnOfRuntime, files: ContextFiles
) -> RuntimeContextAccountingSnapshot:
    """Return the snapshot of what a turn invoked, summed already."""
    unsupported = tuple(kind for kind in checked_kinds(turn.unsupported) if kind not in turn.counted)
    found: dict[Kind, ContextAccountingEntry | None] = {
        Kind.TOOLS: _calls(invoked, Kind.TOOLS, "tool_use/tool"),
        Kind.MCP: _calls(invoked, Kind.MCP, "tool_use/mcp"),
        # Looked up only where they count: reading folders of skills is most of the work.
        Kind.SKILLS: None if Kind.SKILLS in unsupported else _skills(invoked, turn, files),
        Kind.RULES: None if Kind.RULES in unsupported else _rules(turn, files),
        **turn.counted,
    }
    entries = {
        kind: entry for kind in KINDS if kind not in unsupported and (entry := found.get(kind)) is not None
    }
    return RuntimeContextAccountingSnapshot(entries, unsupported, turn.produced_by, turn.provider_backend)


def _calls(invoked: Invoked, kind: Kind, source: str) -> ContextAccountingEntry | None:
    uses = invoked.of_kind(kind)
    return _entry(
        sum(tokens for _, _, tokens in uses),
        [f"{source}/{name}" for name, _, _ in uses],
        [f"{name} × {count}" for name, count, _ in uses],
    )


def _skills(invoked: Invoked, turn: TurnOfRuntime, files: ContextFiles) -> ContextAccountingEntry | None:
    names = [*(name for name, _, _ in invoked.of_kind(Kind.SKILLS)), *turn.selected_skills]
    skills = [
        skill
        for skill in find_skills(names, turn.produced_by, turn.workspace_path, files)
        if skill.size_bytes
    ]
    return _entry(
        sum(tokens_in(skill.size_bytes) for skill in skills),
        sorted(_source_of(skill.path, turn.workspace_path) for skill in skills),
        sorted({skill.name for skill in skills}),
    )


def _rules(turn: TurnOfRuntime, files: ContextFiles) -> ContextAccountingEntry | None:
    paths = {posixpath.normpath(posixpath.join(turn.workspace_path, name)) for name in turn.rules_files}
    sizes = {path: size for path in sorted(paths) if (size := files.size_of(path))}
    return _entry(
        sum(map(tokens_in, sizes.values())),
        sorted(_source_of(path, turn.workspace_path) for path in sizes),
        sorted({posixpath.basename(path) for path in sizes}),
    )


def _entry(tokens: int, sources: list[str], details: list[str]) -> ContextAccountingEntry | None:
    if not tokens:
        return None
    return ContextAccountingEntry(tokens, SOURCE_JOINT.join(sources), DETAIL_JOINT.join(details))


def _source_of(path: str, workspace_path: str) -> str:
    """Return a file's name in a source: within the workspace, or its absolute path."""
    workspace = posixpath.normpath(workspace_path).rstrip("/")
    return f"workspace{path.removeprefix(workspace)}" if path.startswith(f"{workspace}/") else path
