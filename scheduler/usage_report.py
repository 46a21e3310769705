"""The ledger of a scan, in the form that programs read."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

from tokeneconomizer.domain.usage_totals import totals
from tokeneconomizer.scheduler import usage_scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from tokeneconomizer.domain.usage_totals import Tokens, Totals
    from tokeneconomizer.hosts.log_format import LogFile


class Sums(TypedDict):
    """Tokens; None where no log says them. `cost_usd` is None as long as a price is unknown."""

    input: int | None
    output: int | None
    cache_read: int | None
    cache_write_5m: int | None
    cache_write_1h: int | None
    reasoning: int | None
    cost_usd: float | None


class ModelSums(Sums):
    """The tokens of one model."""

    requests: int


class SessionReport(TypedDict):
    """One session; times in ISO 8601, None where the log has none."""

    host: str
    session_id: str
    project: str
    first_at: str | None
    last_at: str | None
    models: dict[str, ModelSums]
    cost_usd: float | None


class DayReport(TypedDict):
    """One day, all agents; `date` is None for replies without a time."""

    date: str | None
    models: dict[str, ModelSums]
    cost_usd: float | None


class Report(TypedDict):
    """All that `te ledger scan --json` prints."""

    sessions: list[SessionReport]
    days: list[DayReport]
    totals: Sums
    unpriced_models: list[str]
    skipped_lines: int


def report(
    files: Sequence[LogFile],
    zone: tzinfo | None,
    cache_folder: Path | None,
    advance: Callable[[int], None] = lambda _files: None,
) -> tuple[Report, list[tuple[str, str]]]:
    """
    Return the report on log files, and path and reason of those that could not be read.

    Args:
        files: as `hosts.logs.find` returns them.
        zone: decides where a day begins; None for the system's own.
        cache_folder: where `usage_scan` keeps what was read, if anywhere.
        advance: told the number of further files done.

    """
    with _no_collections():
        scan = usage_scan.scan(files, cache_folder, advance)
        return _report(totals(scan.usages, zone), scan.skipped_lines), scan.unreadable


@contextmanager
def _no_collections() -> Iterator[None]:
    """Let the garbage collector rest: it would look through many records often, and none is in a cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _report(found: Totals, skipped_lines: int) -> Report:
    return {
        "sessions": [
            {
                "host": session.host,
                "session_id": session.session_id,
                "project": session.project,
                "first_at": _time(session.first_at),
                "last_at": _time(session.last_at),
                "models": _models(session.models),
                "cost_usd": None,
            }
            for session in found.sessions
        ],
        "days": [
            {"date": day.isoformat() if day else None, "models": _models(models), "cost_usd": None}
            for day, models in found.days.items()
        ],
        "totals": _sums(found.all),
        "unpriced_models": found.models(),
        "skipped_lines": skipped_lines,
    }


def _models(models: Mapping[str, Tokens]) -> dict[str, ModelSums]:
    return {model: {"requests": tokens.requests, **_sums(tokens)} for model, tokens in sorted(models.items())}


def _sums(tokens: Tokens) -> Sums:
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write_5m": tokens.cache_write_5m,
        "cache_write_1h": tokens.cache_write_1h,
        "reasoning": tokens.reasoning,
        "cost_usd": None,
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
