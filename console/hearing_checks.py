"""Checks of what arrives: whether each agent's hooks are heard, and whether they tell enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.console import output
from tokeneconomizer.console.checks import Check, Finding, Patient, ok, problem, warning
from tokeneconomizer.console.installations.table import INSTALLATIONS
from tokeneconomizer.console.overview import SESSIONS_LOOKED_AT, newest_by_host
from tokeneconomizer.console.state import view_of
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.hosts.recognise import CLAUDE_CODE
from tokeneconomizer.projections import audit, counters
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CALLS_LOOKED_AT = 30
"""A few turns of work."""

CALLS_NEEDED = 5
"""Fewer calls may all be of one step that is still going on."""

SETUPS_LOOKED_AT = 100
"""Each agent's newest one is among them."""

LOG_AHEAD_MAX = timedelta(minutes=10)
"""Agents add titles and summaries to a log after their last hook."""


def look_at_hearing(patient: Patient) -> Iterator[Finding]:
    """Whether hooks are heard, each agent's, and whether they tell enough for the loop guard to see."""
    if not patient.home.events.exists():
        return
    with EventLog(patient.home.events) as log:
        yield from _look_at_newest(patient, log)
        yield from _look_at_deaf(patient, log)


def _look_at_newest(patient: Patient, log: EventLog) -> Iterator[Finding]:
    with view_of(patient.home, audit) as (view, _):
        newest = audit.entries(view.connection(), log, kind="session.started", limit=1)
        if not newest:
            yield warning("no hook was heard yet", "run `te setup`, then start a new session of your agent")
            return
        calls = [
            entry
            for entry in audit.entries(
                view.connection(), log, kind="session.tool_called", limit=CALLS_LOOKED_AT
            )
            if entry.host == CLAUDE_CODE
        ]
        steps = audit.entries(view.connection(), log, kind="session.step_ended", limit=1)
        step_seen = bool(steps and calls and steps[0].position >= calls[-1].position)
        if (
            len(calls) >= CALLS_NEEDED
            and not step_seen
            and not any(_is_whole(log, call.position) for call in calls)
        ):
            yield problem(
                "Claude Code: calls arrive, the end of their steps does not, so that the loop guard is blind",
                "update Claude Code: PostToolBatch is missing; then `te setup claude_code` and a new session",
            )
        else:
            yield ok(f"last new session {output.local_time(newest[0].at)} ({newest[0].host})")


def _is_whole(log: EventLog, position: int) -> bool:
    event = log.event(position)
    return isinstance(event, EventRow) and event.data.get("whole_step") is True


def _look_at_deaf(patient: Patient, log: EventLog) -> Iterator[Finding]:
    """Find agents that wrote their log since they were set up, and of whose hooks nothing was heard then."""
    with view_of(patient.home, counters) as (view, _):
        heard = newest_by_host(counters.sessions(view.connection(), SESSIONS_LOOKED_AT))
    logged = _newest_logs(patient)
    for host, set_up_at in _set_up(patient, log).items():
        last = heard.get(host, "")
        known = max(datetime.fromisoformat(at) for at in (set_up_at, last) if at)
        if host not in logged or logged[host] <= known + LOG_AHEAD_MAX:
            continue
        agent = INSTALLATIONS[host]
        log_at = output.local_time(logged[host].isoformat())
        when = f"were last heard {output.local_time(last)}" if last else "were never heard"
        yield warning(
            f"{agent.TITLE}: its newest log was written {log_at}, its hooks {when}",
            f"{agent.NEXT} If a session that is started anew is not heard either: `te setup {host}`",
        )


def _set_up(patient: Patient, log: EventLog) -> dict[str, str]:
    """Return the agents that our hooks are installed with, and since when."""
    newest: dict[str, str] = {}
    with view_of(patient.home, audit) as (view, _):
        for entry in audit.entries(view.connection(), log, kind="setup.changed", limit=SETUPS_LOOKED_AT):
            event = log.event(entry.position)
            is_installed = isinstance(event, EventRow) and event.data.get("action") == "install"
            newest.setdefault(entry.host, entry.at if is_installed else "")
    return {host: at for host, at in newest.items() if at and host in INSTALLATIONS}


def _newest_logs(patient: Patient) -> Mapping[str, datetime]:
    """Return when each agent's newest log was written; a database is also written to when nobody works."""
    newest: dict[str, float] = {}
    for file in find(AgentHomes(patient.user_home, patient.environment), LOGS):
        path = Path(file.path)
        if path.suffix == ".db":
            continue
        try:
            written = path.stat().st_mtime
        except OSError:
            continue
        newest[file.host] = max(written, newest.get(file.host, 0.0))
    return {host: datetime.fromtimestamp(written, UTC) for host, written in newest.items()}


HEARING_CHECKS = (Check("hearing", (), look_at_hearing),)
