"""An ended turn, accounted from its stored events alone: a restart in between changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.collector import NOT_IN_CALLS, TurnOfRuntime, snapshot_of
from tokeneconomizer.domain.accounting.invocations import class_of, tokens_in
from tokeneconomizer.domain.accounting.snapshot import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.accounting.files import ContextFiles
    from tokeneconomizer.domain.accounting.snapshot import RuntimeContextAccountingSnapshot
    from tokeneconomizer.domain.guard.turn import TurnState
    from tokeneconomizer.domain.session import Session
    from tokeneconomizer.domain.session_events import ToolCalled

IN_CALLS = (Kind.TOOLS, Kind.SKILLS, Kind.MCP)
"""What the calls of a turn show, all of them or none."""

NAMES_COUNTED_MAX = 256
"""Different tools, servers and skills of one turn; agents offer some tens, and its memory stays small."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """
    What an agent supplies to the contract.

    Attributes:
        produced_by: its name there.
        rules_files: those that it loads; relative to the workspace, or absolute.

    """

    produced_by: str
    rules_files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Accounting:
    """
    How ended turns are accounted.

    Attributes:
        runtimes: host -> what it supplies; the turns of another host are not accounted.
        files: where sizes of rules and skills are looked up.

    """

    runtimes: Mapping[str, Runtime]
    files: ContextFiles

    def of_turn(self, session: Session, turn: TurnState) -> RuntimeContextAccountingSnapshot | None:
        """Return the snapshot of a turn that is over, or None where the session's host supplies nothing."""
        runtime = self.runtimes.get(session.host)
        if runtime is None:
            return None
        unsupported = set(NOT_IN_CALLS)
        if not turn.is_whole:
            # Calls that were not seen cannot be counted, and some of them alone would be a wrong number.
            unsupported |= set(IN_CALLS)
        if session.agent_id:
            # Which rules a sub-agent loads depends on its kind, and no hook tells.
            unsupported.add(Kind.RULES)
        supplied = TurnOfRuntime(
            workspace_path=session.checkout,
            produced_by=runtime.produced_by,
            unsupported=[kind for kind in Kind if kind in unsupported],
            rules_files=runtime.rules_files,
        )
        return snapshot_of(turn.invoked, supplied, self.files)


def count_call(turn: TurnState, called: ToolCalled, output_characters: int) -> None:
    """Add a stored call; the target of a call that loads a skill is the skill's name."""
    use = class_of(called.tool, called.target)
    if len(turn.invoked) >= NAMES_COUNTED_MAX and use not in turn.invoked:
        # Without this one the sums of the others would be a wrong number.
        turn.is_whole = False
        return
    turn.invoked.add(use, tokens_in(called.input_characters + output_characters))
