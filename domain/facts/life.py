"""
The life of a fact, computed from what the sessions of a repository tell, in the order of their starts.

Candidate with one session, confirmed by a second, retired by a contradiction or after long silence; revised
when another way took its place. What the user says of a fact stands above all of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import Outcome
from tokeneconomizer.domain.facts.contradictions import Against
from tokeneconomizer.domain.facts.lessons import Kind, Lesson, Side, lessons_in
from tokeneconomizer.domain.facts.proposed import keys_of
from tokeneconomizer.domain.facts.ways import ALL_OF_IT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from tokeneconomizer.domain.facts.attempts import Attempt
    from tokeneconomizer.domain.facts.lessons import Pairs
    from tokeneconomizer.domain.facts.proposed import Proposal

SESSIONS_TO_CONFIRM = 2
"""One session may have its own reasons; once it knows the way, its later prompts only repeat it."""

SILENT_SESSIONS_MAX = 60
"""What so many sessions did without has gone out of use: some months of one person's work."""

SILENT_DAYS_MAX = 180
"""A repository that rests for half a year is taken up with other tools."""

ID_BYTES = 4
"""Facts of one repository are tens: eight digits that a person can type tell them apart."""


class State(StrEnum):
    """Where a fact stands."""

    CANDIDATE = "candidate"
    CONFIRMED = "confirmed"
    REVISED = "revised"
    RETIRED = "retired"


class Wish(StrEnum):
    """What the user said of a fact."""

    PINNED = "pinned"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class SessionOfFacts:
    """
    What one session tells.

    Attributes:
        session: names it: host and session id.
        started_at: ISO 8601 in UTC, so that texts sort by time.
        streams: the attempts of its main agent and of each sub-agent, each in their order.

    """

    session: str
    started_at: str
    streams: tuple[tuple[Attempt, ...], ...]

    def attempts(self) -> list[Attempt]:
        """Return all attempts."""
        return [attempt for stream in self.streams for attempt in stream]


@dataclass(frozen=True, slots=True)
class Evidence:
    """
    A session that bears a fact out.

    Attributes:
        positions: of the results in the event log that show it.

    """

    session: str
    started_at: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """
    What is known of a repository.

    Attributes:
        fact_id: the same for the same fact, whenever and wherever it is computed.
        state: see `State`; the user's wish is not in it.
        reason: why it is revised or retired, else empty.
        evidence: the sessions that bear it out since it was last contradicted.
        contradicted_by: the sessions that speak against it.
        is_whole: whether the text of its right side was run just so, naming no files.
        script: the name that a file of the repository gives a meaning to, or empty.
        duration_ms: the median of the successful runs, where known.
        wish: the user's, or empty.
        is_proposed: whether a side call said what one of its commands is for, or that one fails as a way.

    """

    fact_id: str
    lesson: Lesson
    state: State
    reason: str
    evidence: tuple[Evidence, ...]
    contradicted_by: tuple[str, ...] = ()
    is_whole: bool = True
    script: str = ""
    duration_ms: int | None = None
    wish: str = ""
    is_proposed: bool = False

    @property
    def is_told(self) -> bool:
        """Whether it belongs into the block, as far as its life goes."""
        if self.wish:
            return self.wish == Wish.PINNED
        return self.state is State.CONFIRMED


@dataclass(slots=True)
class _Life:
    lesson: Lesson
    evidence: list[Evidence] = field(default_factory=list)
    contradicted_by: list[str] = field(default_factory=list)
    silent_sessions: int = 0
    last_contradicted: bool = False


def facts_of(
    sessions: Iterable[SessionOfFacts], wishes: Mapping[str, str], proposals: Sequence[Proposal] = ()
) -> list[Fact]:
    """
    Return all facts of a repository, whatever their state, by their ids.

    Args:
        sessions: those of the repository, in any order.
        wishes: by fact id, what the user said last.
        proposals: what side calls proposed, and the attempts know of.

    """
    pairs = frozenset(proposal.pair for proposal in proposals if proposal.instead_of)
    ordered = sorted(sessions, key=lambda session: (session.started_at, session.session))
    lives: dict[tuple[str, ...], _Life] = {}
    runs: dict[tuple[str, ...], list[Attempt]] = defaultdict(list)
    for session in ordered:
        _take(session, lives, runs, pairs)
    newest = ordered[-1].started_at if ordered else ""
    found = [_fact(life, newest, runs[life.lesson.identity], wishes) for life in lives.values()]
    if proposals:
        keys = keys_of(proposals)
        found = [replace(fact, is_proposed=_is_proposed(fact.lesson, keys, pairs)) for fact in found]
    return sorted(_with_the_best_only(found), key=lambda fact: fact.fact_id)


def _is_proposed(lesson: Lesson, keys: AbstractSet[str], pairs: Pairs) -> bool:
    wrong, right = lesson.wrong.key, lesson.right.key
    # A failure that speaks for itself needs nobody to say so.
    said = lesson.failure == Outcome.FAILED and (lesson.purpose, wrong, right) in pairs
    return said or not keys.isdisjoint({wrong, right})


def _take(
    session: SessionOfFacts,
    lives: dict[tuple[str, ...], _Life],
    runs: dict[tuple[str, ...], list[Attempt]],
    pairs: Pairs,
) -> None:
    shown: dict[tuple[str, ...], tuple[Lesson, list[Attempt]]] = {}
    for lesson, by in _shown_by(session, pairs):
        shown.setdefault(lesson.identity, (lesson, []))[1].extend(by)
    for identity, (lesson, by) in shown.items():
        if lesson.kind is Kind.RUNS:
            runs[identity] += by
    against = Against(session.attempts())
    for identity, life in lives.items():
        if against.speaks_against(life.lesson):
            life.evidence.clear()
            life.contradicted_by.append(session.session)
            life.last_contradicted = True
            shown.pop(identity, None)
        elif identity not in shown:
            life.silent_sessions += 1
    for identity, (lesson, by) in shown.items():
        if identity not in lives and against.speaks_against(lesson):
            continue
        life = lives.setdefault(identity, _Life(lesson))
        positions = sorted({attempt.position for attempt in by})
        life.evidence.append(Evidence(session.session, session.started_at, tuple(positions)))
        life.silent_sessions = 0
        life.last_contradicted = False


def _shown_by(session: SessionOfFacts, pairs: Pairs) -> Iterator[tuple[Lesson, list[Attempt]]]:
    """Yield what a session shows, with the attempts that show it."""
    for stream in session.streams:
        for lesson, failed, worked in lessons_in(stream, pairs):
            yield lesson, [failed, worked]
        for attempt in stream:
            if attempt.worked and attempt.purpose:
                side = Side(attempt.head, attempt.key, attempt.folder)
                yield Lesson(Kind.RUNS, attempt.purpose, Side("", ""), side, ""), [attempt]


def fact_id_of(lesson: Lesson) -> str:
    """Return the id of a lesson's fact."""
    name = "\n".join(lesson.identity).encode("utf-8", "surrogatepass")
    return blake2b(name, digest_size=ID_BYTES).hexdigest()


def _fact(life: _Life, newest: str, runs: list[Attempt], wishes: Mapping[str, str]) -> Fact:
    fact_id = fact_id_of(life.lesson)
    state, reason = _state(life, newest)
    fact = Fact(
        fact_id=fact_id,
        lesson=life.lesson,
        state=state,
        reason=reason,
        evidence=tuple(life.evidence),
        contradicted_by=tuple(life.contradicted_by),
        wish=wishes.get(fact_id, ""),
    )
    return _told_as_it_ran(fact, runs) if runs else fact


def _state(life: _Life, newest: str) -> tuple[State, str]:
    if life.last_contradicted or not life.evidence:
        return State.RETIRED, "contradicted by a session"
    if (
        life.silent_sessions > SILENT_SESSIONS_MAX
        or _days(life.evidence[-1].started_at, newest) > SILENT_DAYS_MAX
    ):
        return State.RETIRED, "no session showed it for a long time"
    if len(life.evidence) < SESSIONS_TO_CONFIRM:
        return State.CANDIDATE, ""
    return State.CONFIRMED, ""


def _days(earlier: str, later: str) -> float:
    span = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return span / timedelta(days=1)


def _told_as_it_ran(fact: Fact, runs: list[Attempt]) -> Fact:
    """Return the fact with the simplest text that really ran, preferring what named no files."""
    seen = [run for run in runs if run.text]
    best = min(seen, key=_simplicity) if seen else None
    text, is_whole = (best.text, best.is_whole) if best else ("", False)
    if best and is_whole and _varies(best, seen):
        text, is_whole = best.head, False
    durations = sorted(run.duration_ms for run in runs if run.duration_ms is not None)
    return replace(
        fact,
        lesson=replace(fact.lesson, right=replace(fact.lesson.right, text=text)),
        is_whole=is_whole,
        script=runs[-1].script,
        duration_ms=durations[len(durations) // 2] if durations else None,
    )


def _varies(best: Attempt, runs: list[Attempt]) -> bool:
    """Return whether it was told each time what to work on, and not always the same."""
    words = _operands(best)
    return bool(words) and any(_operands(run) != words for run in runs)


def _operands(run: Attempt) -> list[str]:
    words = run.text.split()[len(run.head.split()) + len(run.variables) :]
    return [word for word in words if not word.startswith("-") and word not in ALL_OF_IT]


def _simplicity(run: Attempt) -> tuple[bool, int, int, str]:
    return (not run.is_whole, len(run.text.split()), len(run.text), run.text)


def _with_the_best_only(facts: list[Fact]) -> list[Fact]:
    """Revise the confirmed facts that say the same thing in a way which fewer sessions took."""
    best: dict[tuple[str, ...], Fact] = {}
    for fact in facts:
        if fact.state is State.CONFIRMED:
            rival = best.get(_about(fact))
            if rival is None or _strength(fact) > _strength(rival):
                best[_about(fact)] = fact
    return [
        replace(fact, state=State.REVISED, reason=f"{best[_about(fact)].fact_id} took its place")
        if fact.state is State.CONFIRMED and best[_about(fact)] is not fact
        else fact
        for fact in facts
    ]


def _about(fact: Fact) -> tuple[str, ...]:
    lesson = fact.lesson
    if lesson.kind is Kind.RUNS:
        return (lesson.kind, lesson.purpose, lesson.right.folder)
    return (lesson.kind, lesson.purpose, lesson.wrong.key, lesson.wrong.folder)


def _strength(fact: Fact) -> tuple[bool, int, str, str]:
    return not fact.is_proposed, len(fact.evidence), fact.evidence[-1].started_at, fact.fact_id
