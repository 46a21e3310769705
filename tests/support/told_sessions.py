"""Sessions for tests of facts: told as commands with what became of them, read as attempts are stored."""

from __future__ import annotations

from dataclasses import dataclass

from tokeneconomizer.domain.facts.attempts import Attempt, Result, key_of, outcome_of
from tokeneconomizer.domain.facts.folders import within
from tokeneconomizer.domain.facts.life import SessionOfFacts
from tokeneconomizer.domain.facts.ways import ways_in
from tokeneconomizer.domain.redaction import redact_command

CHECKOUT = "/home/dev/project"


@dataclass(frozen=True)
class Ran:
    """A shell call: `words` are those of its failure, as they are stored; empty for one that succeeded."""

    command: str
    words: str = ""
    exit_code: int | None = 0
    verdict: str | None = None
    status: str = ""
    duration_ms: int | None = None
    background: bool = False
    edits_before: int = 0

    def result(self) -> Result:
        failed = bool(self.words) or self.exit_code not in {0, None}
        return Result(
            self.status or ("failed" if failed else "ok"),
            self.exit_code if not self.words or self.exit_code else 1,
            self.words,
            self.verdict,
            background=self.background,
        )


def not_found(command: str) -> Ran:
    return Ran(command, "command not found", 127)


def attempts_of(*calls: Ran | str, first: int = 1) -> tuple[Attempt, ...]:
    """The attempts of one stream; a call that is a text succeeded."""
    found = []
    for number, call in enumerate(calls):
        ran = Ran(call) if isinstance(call, str) else call
        for way in ways_in(redact_command(ran.command)):
            outcome = outcome_of(way, ran.result())
            folder = within(way.folder, CHECKOUT)
            if outcome is None or folder is None:
                continue
            found.append(
                Attempt(
                    position=first + number,
                    turn=1,
                    purpose=way.purpose or "",
                    head=way.head,
                    key=key_of(way.head),
                    text=way.text,
                    is_whole=way.is_whole,
                    rest=way.rest,
                    script=way.script,
                    folder=folder,
                    variables=way.variables,
                    outcome=outcome,
                    duration_ms=ran.duration_ms,
                    edits=ran.edits_before,
                )
            )
    return tuple(found)


def session(number: int, *calls: Ran | str) -> SessionOfFacts:
    """A session of so many hours after the first; one session an hour, from the year's first day."""
    day, hour = divmod(number, 24)
    return SessionOfFacts(
        f"claude_code session-{number}",
        f"2026-{1 + day // 28:02}-{1 + day % 28:02}T{hour:02}:00:00+00:00",
        (attempts_of(*calls, first=1000 * number + 1),),
    )


def sessions(*told: tuple[Ran | str, ...]) -> list[SessionOfFacts]:
    return [session(number, *calls) for number, calls in enumerate(told)]
