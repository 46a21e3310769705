"""
What facts the recorded sessions of public repositories would have come to: project by project, in time order.

Run as `python tests/facts/replay.py`. Not a test: it takes half a minute, and the verdicts on what it prints
are a person's (docs/microskills.md).
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from log_reading import CORPUS, NO_RECORDINGS

from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.facts.attempts import OF_THE_WAY
from tokeneconomizer.domain.facts.life import Fact, SessionOfFacts, State, facts_of
from tokeneconomizer.domain.facts.sentences import sentence_of
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.hosts.opencode.log import exports_in
from tokeneconomizer.projections import microskill_queries as queries
from tokeneconomizer.projections import microskills
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.view import View, create_view
from tokeneconomizer.scheduler.import_logs import Import
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.store import EventStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KEY = b"a key for a replay"

USER_HOME = "/Users/dev"
"""As the recordings were made neutral; the folders themselves are gone, so each path is an identity."""

FOLDERS = {".claude/projects": "claude/projects", ".codex/sessions": "codex/sessions"} | {
    ".copilot/session-state": "copilot/session-state",
    ".pi/agent/sessions": "pi/sessions",
}

PROJECTS = (
    ("agentv", r"agentv|github\.com/\.$"),
    ("oh-my-posh", r"oh-my-posh"),
    ("pi-herdr-subagents", r"pi-herdr-subagents"),
    ("me", r"devuser/me$"),
    ("example-project", r"example-project"),
    ("dotfiles", r"dotfiles"),
    ("gatomia-vscode", r"gatomia-vscode"),
    ("test-repo", r"test-repo"),
)
"""Clones and worktrees of one repository, which the recordings no longer know the origin of."""


@dataclass(frozen=True)
class Confirmation:
    """A fact that was confirmed, and what the sessions after that showed."""

    project: str
    fact: Fact
    later: int
    met_again: int
    borne_out: int


def say(line: str) -> None:
    """Write a line of the report."""
    sys.stdout.write(f"{line}\n")


def recorded(folder: Path) -> View:
    """Import the recordings into a store of their own, and fold it."""
    real = CORPUS / "transcripts" / "real"
    home = folder / "agents"
    for place, source in FOLDERS.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).symlink_to(real / source)
    files = [*find(AgentHomes(home), LOGS), *exports_in(real / "opencode")]
    store = EventStore(folder / "events.db", KEY)
    with EventLog(folder / "events.db") as log, contextlib.redirect_stdout(io.StringIO()):
        ground = Ground(
            log,
            Hasher(KEY),
            USER_HOME,
            LogPlaces(USER_HOME).of,
            lambda events: store.append([event.stored() for event in events]),
        )
        Import(ground, folder / "cache").run(files)
    store.close()
    create_view(folder / "view.db", microskills)
    view = View(folder / "view.db", microskills)
    with EventLog(folder / "events.db") as log:
        view.catch_up(log)
    return view


def projects_of(view: View) -> dict[str, list[SessionOfFacts]]:
    """Return the sessions of each project in the order of their starts."""
    found: dict[str, list[SessionOfFacts]] = defaultdict(list)
    for repository in queries.repositories(view.connection()):
        name = next((name for name, shape in PROJECTS if re.search(shape, repository)), repository)
        found[name] += queries.sessions_of(view.connection(), repository)
    return {name: _merged(sessions) for name, sessions in sorted(found.items())}


def _merged(sessions: Iterable[SessionOfFacts]) -> list[SessionOfFacts]:
    by_name: dict[str, list[SessionOfFacts]] = defaultdict(list)
    for session in sessions:
        by_name[session.session].append(session)
    merged = [
        SessionOfFacts(
            name, min(one.started_at for one in parts), tuple(s for one in parts for s in one.streams)
        )
        for name, parts in by_name.items()
    ]
    return sorted(merged, key=lambda session: (session.started_at, session.session))


def by_prompt(sessions: Iterable[SessionOfFacts]) -> list[SessionOfFacts]:
    """Return the sessions cut into their prompts, each of which then counts as one."""
    cut = []
    for session in sessions:
        turns = sorted({attempt.turn for attempt in session.attempts()})
        for turn in turns:
            streams = (tuple(a for a in stream if a.turn == turn) for stream in session.streams)
            name = f"{session.session} {turn:06}"
            cut.append(SessionOfFacts(name, session.started_at, tuple(filter(None, streams))))
    return cut


def confirmations(
    project: str, sessions: list[SessionOfFacts], counted: list[SessionOfFacts]
) -> Iterator[Confirmation]:
    """Yield what is confirmed at some moment, when it is for the first time."""
    seen: set[str] = set()
    started = {session.session: place for place, session in enumerate(sessions)}
    for number in range(1, len(counted) + 1):
        newest = counted[number - 1]
        for fact in facts_of(counted[:number], {}):
            if fact.state is State.CONFIRMED and fact.fact_id not in seen:
                seen.add(fact.fact_id)
                place = started[" ".join(newest.session.split()[:2])]
                yield _confirmation(project, fact, sessions[place + 1 :])


def _confirmation(project: str, fact: Fact, later: list[SessionOfFacts]) -> Confirmation:
    lesson = fact.lesson
    concerned = [
        [attempt for attempt in session.attempts() if attempt.purpose == lesson.purpose] for session in later
    ]
    concerned = [attempts for attempts in concerned if attempts]
    met = [attempts for attempts in concerned if any(a.outcome in OF_THE_WAY for a in attempts)]
    bears_out = [
        attempts
        for attempts in concerned
        if any(a.worked and (a.key, a.folder) == (lesson.right.key, lesson.right.folder) for a in attempts)
    ]
    return Confirmation(project, fact, len(concerned), len(met), len(bears_out))


def main() -> int:
    """Print the facts, then the table of the two ways of counting."""
    if not (CORPUS / "transcripts" / "real").is_dir():
        say(NO_RECORDINGS)
        return 0
    with tempfile.TemporaryDirectory() as folder, recorded(Path(folder)) as view:
        projects = projects_of(view)
    rows = []
    for project, sessions in projects.items():
        found = facts_of(sessions, {})
        _print_project(project, sessions, found)
        counted = {"session": sessions, "prompt": by_prompt(sessions)}
        rows += [
            (project, way, list(confirmations(project, sessions, unit))) for way, unit in counted.items()
        ]
    _print_counting(rows)
    return 0


def _print_project(project: str, sessions: list[SessionOfFacts], facts: list[Fact]) -> None:
    say(f"\n{project}: {len(sessions)} sessions that tried something")
    shown = [fact for fact in facts if fact.state is not State.CANDIDATE]
    for fact in shown:
        evidence = ", ".join(one.session.partition(" ")[2][:8] for one in fact.evidence)
        say(f"  {fact.state.value:9} {fact.fact_id} {sentence_of(fact) or '(not said)'} [{evidence}]")
    candidates = sum(fact.state is State.CANDIDATE for fact in facts)
    say(f"  and {candidates} candidates")
    for fact in facts:
        if fact.state is State.CANDIDATE and fact.lesson.kind.value != "runs":
            say(f"  candidate {fact.fact_id} {sentence_of(fact)}")


def _print_counting(rows: list[tuple[str, str, list[Confirmation]]]) -> None:
    say(
        "\nproject | counted by | confirmed | later sessions of that purpose | borne out in | failed again in"
    )
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for project, way, found in rows:
        figures = [
            len(found),
            sum(one.later for one in found),
            sum(one.borne_out for one in found),
            sum(one.met_again for one in found),
            sum(one.later > 0 and one.borne_out == 0 for one in found),
        ]
        sums[way] = [total + figure for total, figure in zip(sums[way], figures, strict=True)]
        if figures[0]:
            say(" | ".join(map(str, [project, way, *figures])))
    for way, figures in sums.items():
        say(" | ".join(map(str, ["all", way, *figures])))
    by_session = {
        (one.project, one.fact.fact_id) for _, way, found in rows if way == "session" for one in found
    }
    say("\nconfirmed by prompts, and never by a second session:")
    for _, way, found in rows:
        for one in found:
            if way == "prompt" and (one.project, one.fact.fact_id) not in by_session:
                say(f"  {one.project}: {sentence_of(one.fact)}")


if __name__ == "__main__":
    sys.exit(main())
