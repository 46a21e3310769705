"""
What would be pruned in recorded sessions, and what would have been wrong: `python tests/pruning/measure.py`.

Sessions of a repository are taken in the order of their beginning. After each one the tools that are unused
by the evidence until then are denied; a denial is wrong when a later session of the repository uses the tool.
The sizes are those of a version's default tools, since the recordings show none.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tokeneconomizer.domain.commands import PromptKind, ReturnCalls, SubmitPrompt
from tokeneconomizer.domain.prune_evidence import PruneLimits, silence_since
from tokeneconomizer.hosts.log_format import LogFile, Wanted
from tokeneconomizer.hosts.logs import LOGS
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.scheduler.import_turns import TurnsOfLog
from tokeneconomizer.scheduler.log_places import LogPlaces

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[3] / "shared")

RECORDINGS = {
    "claude_code": ("claude", "**/*.jsonl", ""),
    "codex": ("codex", "**/rollout-*.jsonl", ""),
}
"""The agents whose default tools are known in size."""

RULES = {
    "by prompts and sessions": PruneLimits(),
    "by prompts only": PruneLimits(min_prompts=10, min_sessions=1, single_prompt_sessions=1_000_000),
}


@dataclass
class Session:
    """The prompts and uses of one session, in time."""

    began: str
    prompts: list[tuple[str, str]] = field(default_factory=list)
    uses: list[tuple[str, str]] = field(default_factory=list)


def sessions_of(host: str) -> dict[str, list[Session]]:
    """Read the recordings of an agent, by repository."""
    folder, pattern, form = RECORDINGS[host]
    by_repository: dict[str, dict[str, Session]] = defaultdict(dict)
    places = LogPlaces("/nowhere")
    for path in sorted((CORPUS / "transcripts" / "real" / folder).glob(pattern)):
        turns = TurnsOfLog(host)
        done = []
        for batch in LOGS[host].read(LogFile(host, str(path), form), None, Wanted.ALL):
            for record in batch.records:
                done += turns.take(record)
        for turn in [*done, *turns.rest()]:
            sessions = by_repository[places.of(turn.session).repository]
            session = sessions.setdefault(turn.key.session_id, Session(turn.began_at.isoformat()))
            for at, step in turn.steps:
                match step:
                    case SubmitPrompt(kind=PromptKind.HUMAN) if not turn.key.agent_id:
                        session.prompts.append((turn.key.session_id, at.isoformat()))
                    case ReturnCalls(calls):
                        unit_of = TARGETS[host].unit_of
                        session.uses += [(unit_of(one.tool, one.server), at.isoformat()) for one in calls]
    return {name: sorted(found.values(), key=lambda one: one.began) for name, found in by_repository.items()}


def measure(host: str, repositories: dict[str, list[Session]], limits: PruneLimits) -> tuple[str, ...]:
    """Replay the sessions under the limits; return the cells of a row."""
    denied = wrong = saved = sessions = requests_of = 0
    for history in repositories.values():
        sessions += len(history)
        gone: set[str] = set()
        prompts: list[tuple[str, str]] = []
        last: dict[str, str] = {}
        for session in history:
            used = {unit for unit, _ in session.uses}
            saved += sum(TARGETS[host].assumed[unit] for unit in gone) if session.prompts else 0
            requests_of += bool(session.prompts and gone)
            wrong += len(gone & used)
            gone -= used
            prompts += session.prompts
            for unit, at in session.uses:
                last[unit] = max(at, last.get(unit, ""))
            for unit in TARGETS[host].assumed:
                silence = silence_since(last.get(unit, ""), prompts)
                if unit not in gone and silence.proves(limits):
                    gone.add(unit)
                    denied += 1
    numbers = (len(repositories), sessions, requests_of, denied, wrong, saved)
    return tuple(f"{number:,}" for number in numbers)


def main() -> None:
    """Print the table of docs/pruning.md."""
    headings = ("agent", "rule", "repositories", "sessions", "with fewer tools", "denied", "wrongly", "saved")
    print("|", " | ".join(headings), "|")  # noqa: T201 - a program of its own
    print("|---" * len(headings) + "|")  # noqa: T201
    for host in RECORDINGS:
        repositories = sessions_of(host)
        for rule, limits in RULES.items():
            print("|", " | ".join([host, rule, *measure(host, repositories, limits)]), "|")  # noqa: T201


if __name__ == "__main__":
    main()
