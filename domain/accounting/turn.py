"""An ended turn, accounted from its stored events alone: a restart in between changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.collector import NOT_IN_CALLS, TurnOfRuntime, snapshot_of
from tokeneconomizer.domain.accounting.invocations import class_of, tokens_in
from tokeneconomizer.domain.accounting.skills import find_skills
from tokeneconomizer.domain.accounting.snapshot import ContextAccountingEntry, Kind
from tokeneconomizer.domain.accounting.told import NOTHING_TOLD, ToldContext

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from tokeneconomizer.domain.accounting.files import ContextFiles
    from tokeneconomizer.domain.accounting.rules import RulesFiles
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
        rules: where it looks for rules.
        prompt_source: what in its log shows the system prompt with all definitions, or empty.

    """

    produced_by: str
    rules: RulesFiles
    prompt_source: str = ""


@dataclass(frozen=True, slots=True)
class Accounting:
    """
    How ended turns are accounted.

    Attributes:
        runtimes: host -> what it supplies; the turns of another host are not accounted.
        files: where sizes of rules and skills are looked up.
        told: what the agent's log tells of the turn.
        as_of: when a turn of the past ended; a file that was changed since tells nothing of it.
        rules: their entry as it was measured when the turn ended, where it is accounted again.

    """

    runtimes: Mapping[str, Runtime]
    files: ContextFiles
    told: ToldContext = NOTHING_TOLD
    as_of: datetime | None = None
    rules: ContextAccountingEntry | None = None

    def of_turn(self, session: Session, turn: TurnState) -> RuntimeContextAccountingSnapshot | None:
        """Return the snapshot of a turn that is over, or None where the session's host supplies nothing."""
        runtime = self.runtimes.get(session.host)
        if runtime is None:
            return None
        rules_files = runtime.rules.loaded_in(session.checkout, self.files)
        unsupported = self._unsupported(session, turn, runtime, rules_files)
        supplied = TurnOfRuntime(
            workspace_path=session.checkout,
            produced_by=runtime.produced_by,
            provider_backend=self.told.provider or None,
            unsupported=[kind for kind in Kind if kind in unsupported],
            rules_files=rules_files,
            counted=self._counted(runtime),
        )
        return snapshot_of(turn.invoked, supplied, self.files)

    def _counted(self, runtime: Runtime) -> dict[Kind, ContextAccountingEntry]:
        """Return what is known for real; the definitions of tools are a part of the system prompt."""
        counted = {} if self.rules is None else {Kind.RULES: self.rules}
        characters = self.told.prompt_characters
        if characters and runtime.prompt_source:
            counted[Kind.SYSTEM_PROMPT] = ContextAccountingEntry(tokens_in(characters), runtime.prompt_source)
        return counted

    def _unsupported(
        self, session: Session, turn: TurnState, runtime: Runtime, rules_files: Sequence[str]
    ) -> set[Kind]:
        unsupported = set(NOT_IN_CALLS)
        if not turn.is_whole:
            # Calls that were not seen cannot be counted, and some of them alone would be a wrong number.
            unsupported |= set(IN_CALLS)
        # Which rules a sub-agent loads depends on its kind, and no hook tells.
        if session.agent_id or self._is_changed(session.checkout, rules_files):
            unsupported.add(Kind.RULES)
        names = [name for name, _, _ in turn.invoked.of_kind(Kind.SKILLS)]
        if names and self.as_of is not None:
            skills = find_skills(names, runtime.produced_by, session.checkout, self.files)
            if self._is_changed(session.checkout, [skill.path for skill in skills]):
                unsupported.add(Kind.SKILLS)
        return unsupported

    def _is_changed(self, checkout: str, paths: Sequence[str]) -> bool:
        """Whether the files of a turn of the past are not what they were, as far as can be seen."""
        if self.as_of is None:
            return False
        ended_at = self.as_of.timestamp()
        return self.files.modified_at(checkout) is None or any(
            (self.files.modified_at(path) or 0) > ended_at for path in paths
        )


def count_call(turn: TurnState, called: ToolCalled, output_characters: int) -> None:
    """Add a stored call; the target of a call that loads a skill is the skill's name."""
    use = class_of(called.tool, called.target)
    if len(turn.invoked) >= NAMES_COUNTED_MAX and use not in turn.invoked:
        # Without this one the sums of the others would be a wrong number.
        turn.is_whole = False
        return
    turn.invoked.add(use, tokens_in(called.input_characters + output_characters))
