"""A scan's ledger as a table: one row per session, day, repository or model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.console.output import Cell, Table, local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokeneconomizer.scheduler.usage_report import ModelSums, Report, SessionReport, Sums

GROUPS = ("session", "day", "repo", "model")

UNKNOWN = "unknown"
"""Stands for a figure that no log tells: never 0."""

FIGURES = ("input", "cache_read", "cache_write", "output")

_HEADINGS = ("requests", "input", "cache read", "cache write", "output")


class _Row:
    """The sums of one row."""

    def __init__(self) -> None:
        self.requests = 0
        self.figures: dict[str, int | None] = dict.fromkeys(FIGURES)

    def add(self, models: Iterable[ModelSums]) -> None:
        for sums in models:
            self.requests += sums["requests"]
            for name, more in _figures(sums).items():
                if more is not None:
                    self.figures[name] = (self.figures[name] or 0) + more

    def cells(self) -> list[Cell | str]:
        return [f"{self.requests:,}", *map(_shown, self.figures.values())]


def table_of(report: Report, group: str) -> Table:
    """Return the table of a report; the last row holds all."""
    rows: dict[tuple[str, ...], _Row] = {}
    whole = _Row()
    for names, models in _parts(report, group):
        rows.setdefault(names, _Row()).add(models)
        whole.add(models)
    headings = {
        "session": ("last reply", "agent", "project", "session"),
        "day": ("day",),
        "repo": ("agent", "repository"),
        "model": ("model",),
    }[group]
    all_names = ("all", *[""] * (len(headings) - 1))
    return Table(
        "Tokens",
        (*headings, *_HEADINGS),
        [[*names, *row.cells()] for names, row in [*rows.items(), (all_names, whole)]],
    )


def _parts(report: Report, group: str) -> list[tuple[tuple[str, ...], list[ModelSums]]]:
    if group == "day":
        return [((day["date"] or UNKNOWN,), list(day["models"].values())) for day in report["days"]]
    if group == "model":
        return [
            ((model,), [sums]) for session in report["sessions"] for model, sums in session["models"].items()
        ]
    names: Callable[[SessionReport], tuple[str, ...]] = _names_of if group == "session" else _repository_of
    return [(names(session), list(session["models"].values())) for session in report["sessions"]]


def _names_of(session: SessionReport) -> tuple[str, ...]:
    project = Path(session["project"]).name
    return local_time(session["last_at"]), session["host"], project, session["session_id"]


def _repository_of(session: SessionReport) -> tuple[str, ...]:
    # Not for a program that asks for JSON: it takes longer to import than a kept ledger to print.
    from tokeneconomizer.scheduler.places import place_of  # noqa: PLC0415

    folder = session["project"]
    return session["host"], place_of(folder, str(Path.home())).repository if folder else UNKNOWN


def _figures(sums: Sums) -> dict[str, int | None]:
    written = [sums["cache_write_5m"], sums["cache_write_1h"]]
    known = [number for number in written if number is not None]
    return {
        "input": sums["input"],
        "cache_read": sums["cache_read"],
        "cache_write": sum(known) if known else None,
        "output": sums["output"],
    }


def _shown(number: int | None) -> Cell | str:
    return Cell(UNKNOWN, "quiet") if number is None else f"{number:,}"
