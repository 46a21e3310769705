"""Builders for domain tests: a session is told as a list of steps, and read back as its events."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import (
    Delivery,
    EndTurn,
    HookCommand,
    Place,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus, Hasher
from tokeneconomizer.domain.handle import Outcome, Rules, handle

if TYPE_CHECKING:
    from tokeneconomizer.domain.commands import Step
    from tokeneconomizer.domain.session import Session
    from tokeneconomizer.domain.session_events import SessionEvent

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
MAIN = SessionKey("claude_code", "session-1")


def shell(command: str, output: str = "", *, failed: bool = False, call_id: str = "") -> Call:
    """A shell call with its output."""
    return Call(
        call_id=call_id,
        tool="Bash",
        kind=CallKind.SHELL,
        server="",
        arguments={"command": command},
        command=command,
        target="",
        edited="",
        output=output,
        status=CallStatus.FAILED if failed else CallStatus.OK,
        exit_code=1 if failed else 0,
        interrupted=False,
        background=False,
        duration_ms=None,
    )


def edit(path: str, new: str, *, error: str = "", call_id: str = "") -> Call:
    """An edit; one with an error never ran."""
    return Call(
        call_id=call_id,
        tool="Edit",
        kind=CallKind.EDIT,
        server="",
        arguments={"file_path": path, "new_string": new},
        command="",
        target=path,
        edited=new,
        output=error or "The file was updated.",
        status=CallStatus.NEVER_RAN if error else CallStatus.OK,
        exit_code=None,
        interrupted=False,
        background=False,
        duration_ms=None,
    )


def look(tool: str, arguments: dict[str, object], output: str, kind: CallKind = CallKind.READ) -> Call:
    """A call of a tool that only looks at something, or waits for it."""
    return replace(
        shell("", output),
        tool=tool,
        kind=kind,
        arguments=arguments,
        target=str(arguments.get("file_path", "")),
        exit_code=None,
    )


@dataclass
class Telling:
    """Tells a session step by step; every step comes ten seconds after the one before."""

    key: SessionKey = MAIN
    rules: Rules = field(default_factory=Rules)
    looks_ahead: bool = False
    session: Session | None = None
    at: datetime = START
    calls_made: int = 0
    deliveries: int = 0
    events: list[SessionEvent] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def tell(
        self,
        step: Step | None,
        *,
        after_s: float = 10,
        delivery_id: str = "",
        answered: bool = False,
        unheard: tuple[Call, ...] = (),
    ) -> Outcome:
        self.at += timedelta(seconds=after_s)
        self.deliveries += 1
        outcome = handle(
            self.session,
            HookCommand(self.key, "", "/home/dev/project", "", step, unheard, looks_ahead=self.looks_ahead),
            Delivery(delivery_id or f"delivery-{self.deliveries}", self.at, answered=answered),
            lambda: Place("example.org/team/project", "/home/dev/project"),
            self.rules,
            Hasher(b"a key for tests"),
        )
        self.outcomes.append(outcome)
        if outcome.session is not None:
            self.session = outcome.session
            self.events += outcome.session.collect_events()  # type: ignore[arg-type]
        return outcome

    def start(self, source: str = "startup", **options: object) -> Outcome:
        return self.tell(StartSession(source=source), **options)  # type: ignore[arg-type]

    def prompt(
        self, text: str = "mend it", kind: PromptKind = PromptKind.HUMAN, **options: object
    ) -> Outcome:
        prompt_id = f"prompt-{self.deliveries + 1}"
        return self.tell(SubmitPrompt(prompt_id, text, kind), **options)  # type: ignore[arg-type]

    def step(self, *calls: Call, whole_step: bool = True, **options: object) -> Outcome:
        """Calls of one model reply; those without an id get the next one."""
        return self.tell(ReturnCalls(self.named(*calls), whole_step), **options)  # type: ignore[arg-type]

    def named(self, *calls: Call) -> tuple[Call, ...]:
        named = []
        for call in calls:
            self.calls_made += 1
            named.append(call if call.call_id else replace(call, call_id=f"call-{self.calls_made}"))
        return tuple(named)

    def stop(self, reason: str = "stop", **options: object) -> Outcome:
        return self.tell(EndTurn(reason), **options)  # type: ignore[arg-type]

    def topics(self) -> list[str]:
        """The stored events, without their common prefix."""
        return [event.TOPIC.removeprefix("session.") for event in self.events]

    def of(self, topic: str) -> list[SessionEvent]:
        return [event for event in self.events if f"session.{topic}" == event.TOPIC]


def redirects_after(telling: Telling, *steps: list[Call]) -> list[int]:
    """Tell the steps; return the numbers of those that were answered with a redirect."""
    answered = [bool(telling.step(*calls).decision.context) for calls in steps]
    return [number for number, redirected in enumerate(answered, start=1) if redirected]
