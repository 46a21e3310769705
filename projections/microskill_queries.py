"""What is asked of the view `microskills`: sessions with their attempts, blocks, wishes, what is due."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.facts.attempts import Attempt
from tokeneconomizer.domain.facts.life import SessionOfFacts, facts_of
from tokeneconomizer.domain.facts.proposed import without
from tokeneconomizer.projections.microskills import proposals_of, repositories_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.domain.facts.life import Fact

SESSIONS_ASKED_MAX = 200
"""The newest ones: far more than the longest silence of a fact, and computed in some fifty milliseconds."""

_ATTEMPT = ", ".join(f"a.{name}" for name in Attempt._fields)


class Block(NamedTuple):
    """
    The block of a repository that was rendered last.

    Attributes:
        version: of its event in the repository's stream; 0 where there is none.
        log_position: the newest event that it knows of.

    """

    version: int = 0
    text: str = ""
    log_position: int = 0


def sessions_of(
    connection: sqlite3.Connection, repository: str, limit: int = SESSIONS_ASKED_MAX
) -> list[SessionOfFacts]:
    """Return the newest sessions of a repository that tried something, in the order of their starts."""
    names = repositories_of(connection, repository)
    marks = _marks(names)
    rows = connection.execute(
        f"""WITH newest AS (
            SELECT session, min(started_at) AS began FROM streams WHERE repository IN ({marks})
            GROUP BY session HAVING EXISTS (SELECT 1 FROM attempts a JOIN streams s USING (stream_id)
                WHERE s.session = streams.session)
            ORDER BY began DESC, session LIMIT ?)
        SELECT n.session, n.began, a.stream_id, {_ATTEMPT} FROM newest n
            JOIN streams s ON s.session = n.session JOIN attempts a USING (stream_id)
            WHERE s.repository IN ({marks})
            ORDER BY n.began, n.session, s.started_at, a.stream_id, a.position, a.place""",
        (*names, limit, *names),
    )
    return list(_grouped(map(tuple, rows)))


def _grouped(rows: Iterable[tuple[object, ...]]) -> Iterator[SessionOfFacts]:
    for (session, began), of_session in groupby(rows, key=lambda row: (row[0], row[1])):
        by_stream = groupby(of_session, key=lambda row: row[2])
        streams = tuple(tuple(_read_attempt(row) for row in stream) for _, stream in by_stream)
        yield SessionOfFacts(str(session), str(began), streams)


def _read_attempt(row: tuple[object, ...]) -> Attempt:
    attempt = Attempt._make(row[3:])
    variables = tuple(str(attempt.variables).split())
    return attempt._replace(variables=variables, is_whole=bool(attempt.is_whole))


def told(
    connection: sqlite3.Connection, sessions: Iterable[SessionOfFacts]
) -> list[tuple[SessionOfFacts, list[str]]]:
    """Return the sessions, each with the blocks that reached it."""
    texts: dict[str, list[str]] = defaultdict(list)
    for session, text in connection.execute(
        "SELECT session, text FROM injections JOIN streams USING (stream_id)"
    ):
        texts[str(session)].append(str(text))
    return [(session, texts[session.session]) for session in sessions]


def wishes_of(connection: sqlite3.Connection, repository: str) -> dict[str, str]:
    """Return what the user said last of each fact of a repository."""
    found: dict[str, str] = {}
    for name in repositories_of(connection, repository):
        rows = connection.execute("SELECT fact_id, wish FROM wishes WHERE repository = ?", (name,))
        found |= {str(fact_id): str(wish) for fact_id, wish in rows}
    return found


def block_of(connection: sqlite3.Connection, repository: str) -> Block:
    """Return the block of a repository that was rendered last."""
    found = connection.execute(
        "SELECT version, text, log_position FROM repositories WHERE repository = ?", (repository,)
    ).fetchone()
    return Block(*found) if found else Block()


def due(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Return the repositories whose block may be out of date, with the newest event that may change it."""
    rows = connection.execute(
        """SELECT t.repository, t.position FROM taught t LEFT JOIN repositories r USING (repository)
        WHERE t.position > coalesce(r.log_position, 0) ORDER BY t.position"""
    )
    return [(str(repository), int(position)) for repository, position in rows]


def checkouts_of(connection: sqlite3.Connection, repository: str) -> list[str]:
    """Return the checkouts of a repository, the one that was worked in last first."""
    rows = connection.execute(
        "SELECT checkout FROM streams WHERE repository = ? GROUP BY checkout ORDER BY max(started_at) DESC",
        (repository,),
    )
    return [str(checkout) for (checkout,) in rows]


def moved_from(connection: sqlite3.Connection, repository: str) -> list[str]:
    """
    Return other identities that the repository's checkouts had when they were watched before.

    Only where that is certain: the checkout had no origin then, or the name at the end of it stayed. A folder
    may as well have been emptied and filled with another repository.
    """
    rows = connection.execute(
        """SELECT DISTINCT other.repository, other.checkout FROM streams s JOIN streams other USING (checkout)
        WHERE s.repository = ? AND other.repository != s.repository AND other.started_at < s.started_at""",
        (repository,),
    )
    linked = repositories_of(connection, repository)
    name = repository.rpartition("/")[2]
    return sorted(
        {
            str(other)
            for other, checkout in rows
            if other not in linked
            and (other.startswith(f"path:{checkout}") or other.rpartition("/")[2] == name)
        }
    )


def blocks(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the repositories with a block, and its text."""
    rows = connection.execute(
        "SELECT repository, text FROM repositories WHERE text != '' ORDER BY repository"
    )
    return [(str(repository), str(text)) for repository, text in rows]


def repositories(connection: sqlite3.Connection) -> list[str]:
    """Return all repositories that taught something, by name."""
    rows = connection.execute(
        "SELECT DISTINCT repository FROM streams JOIN attempts USING (stream_id) ORDER BY repository"
    )
    return [str(repository) for (repository,) in rows]


class Archived(NamedTuple):
    """An archived session that no side call was made about yet."""

    stream_id: str
    host: str
    repository: str
    checkout: str


def not_asked_about(connection: sqlite3.Connection, since: str) -> list[Archived]:
    """Return the watched sessions that were archived since a moment (ISO 8601), the first one first."""
    rows = connection.execute(
        """SELECT stream_id, session, repository, checkout FROM streams
        WHERE may_be_asked_about AND archived_at >= ? ORDER BY archived_at, stream_id""",
        (since,),
    )
    return [
        Archived(str(stream_id), str(session).partition(" ")[0], str(repository), str(checkout))
        for stream_id, session, repository, checkout in rows
    ]


def proposed_in(connection: sqlite3.Connection, repository: str) -> dict[str, int]:
    """Return the proposed facts of a repository by id, with the event that proposed each."""
    names = repositories_of(connection, repository)
    rows = connection.execute(
        f"""SELECT fact_id, min(position) FROM proposals WHERE repository IN ({_marks(names)})
        GROUP BY fact_id""",
        names,
    )
    return {str(fact_id): int(position) for fact_id, position in rows}


def facts_in(connection: sqlite3.Connection, repository: str, *, with_proposals: bool) -> list[Fact]:
    """
    Return the facts of a repository, whatever their state, by their ids.

    Args:
        connection: of this view.
        repository: its identity.
        with_proposals: whether what side calls proposed counts.

    """
    sessions, proposals = sessions_of(connection, repository), proposals_of(connection, repository)
    wishes = wishes_of(connection, repository)
    if with_proposals or not proposals:
        return facts_of(sessions, wishes, proposals)
    learnt = [replace(one, streams=without(one.streams, proposals)) for one in sessions]
    return facts_of(learnt, wishes)


def _marks(names: list[str]) -> str:
    return ", ".join("?" for _ in names)
