"""`te guard replay` and `te guard score`: recorded sessions through the same guard as live."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from tokeneconomizer.console import output
from tokeneconomizer.console.state import configuration_in_force
from tokeneconomizer.domain.errors import BadLabel
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.hosts import neutral_calls
from tokeneconomizer.hosts.claude_code.payload import NAME as CLAUDE_CODE
from tokeneconomizer.hosts.records import SkippedLine
from tokeneconomizer.scheduler.replay import replay
from tokeneconomizer.scheduler.replay_sources import SOURCES, records_of
from tokeneconomizer.scheduler.scoring import label_from, score, scored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.records import ReplayRecord
    from tokeneconomizer.scheduler.replay import ReplayedTurn
    from tokeneconomizer.scheduler.scoring import Label, Score, Scored


@click.group(name="guard")
def command() -> None:
    """Look at what the loop guard does."""


@command.command(name="replay")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--host",
    type=click.Choice(SOURCES),
    default=CLAUDE_CODE,
    show_default=True,
    help="Whose log it is.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON Lines, one per turn.")
def replay_command(files: tuple[Path, ...], host: str, *, as_json: bool) -> None:
    """Replay recorded sessions through the same guard as live."""
    rules = Rules(limits=configuration_in_force().limits(host=host))
    skipped = 0
    # Neutral lines have no ids of their own, so that nothing tells copies among them.
    seen_calls: set[str] | None = None if host == neutral_calls.NAME else set()
    for file in files:
        turns, unreadable = _replay_file(file, host, rules, seen_calls)
        skipped += unreadable
        if as_json:
            for turn in turns:
                output.print_json({"file": str(file), **turn.to_json()})
        else:
            output.print_data(_table(file, turns))
    if skipped:
        output.say(f"{skipped} lines could not be read and were passed over")


@command.command(name="score")
@click.argument(
    "labels", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="The figures and each label's result as one object.")
def score_command(labels: tuple[Path, ...], *, as_json: bool) -> None:
    """Compare what the guard says with labelled turns."""
    results: list[Scored] = []
    skipped: list[tuple[Label, str]] = []
    replays: dict[tuple[str, Path], list[ReplayedTurn]] = {}
    for path in labels:
        for label in _labels_in(path):
            log = _log_of(label, path)
            if label.host not in SOURCES:
                skipped.append((label, f"logs of {label.host} cannot be read"))
            elif log is None:
                skipped.append((label, f"{label.file} is not there"))
            else:
                if (label.host, log) not in replays:
                    rules = Rules(limits=configuration_in_force().limits(host=label.host))
                    replays[label.host, log] = _replay_file(log, label.host, rules)[0]
                results.append(scored(label, replays[label.host, log]))
    figures = score(results)
    if as_json:
        output.print_json(_as_json(figures, results, skipped))
    else:
        output.print_data(_score_table(results))
        output.print_data(_figures_table(figures))
    for label, reason in skipped:
        output.say(f"{label.name} is not scored: {reason}")


def _labels_in(path: Path) -> list[Label]:
    labels = []
    for number, raw in enumerate(path.read_bytes().splitlines(), start=1):
        if not raw.strip():
            continue
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:
            line = None
        if not isinstance(line, dict):
            message = f"line {number} of {path} is no JSON object: write one label a line"
            raise BadLabel(message)
        labels.append(label_from(line))
    return labels


def _log_of(label: Label, labels: Path) -> Path | None:
    """Return the log that a label means: beside the labels, or below a folder that holds them."""
    here = labels.resolve()
    folders = [here.parent] if label.folder == "beside" else [*here.parents, Path(os.pardir, "shared")]
    return next((file for folder in folders if (file := folder / label.file).is_file()), None)


def _as_json(figures: Score, results: list[Scored], skipped: list[tuple[Label, str]]) -> dict[str, object]:
    return {
        **asdict(figures),
        "results": [
            {
                "id": result.label.name,
                "host": result.label.host,
                "label": "stuck" if result.label.is_stuck else "not_stuck",
                "confidence": result.label.confidence,
                "result": _result_words(result),
                "late": result.late,
                "redirects": [{"call": r.call, "line": r.line, "rule": r.rule} for r in result.redirects],
            }
            for result in results
        ],
        "skipped": [{"id": label.name, "reason": reason} for label, reason in skipped],
    }


def _result_words(result: Scored) -> str:
    if not result.label.is_stuck:
        return "false redirect" if result.is_false else "silent"
    if result.in_time:
        return "found"
    return "late" if result.redirects else "missed"


def _score_table(results: list[Scored]) -> output.Table:
    rows = [
        (
            result.label.name,
            result.label.host,
            "stuck" if result.label.is_stuck else "not stuck",
            result.label.confidence,
            _result_words(result),
            "" if result.late is None else f"{result.late:+d}",
            ", ".join(f"call {r.call} ({r.rule})" for r in result.redirects),
        )
        for result in results
    ]
    return output.Table("", ("label", "host", "is", "confidence", "result", "late", "redirects"), rows)


def _figures_table(figures: Score) -> output.Table:
    lateness = ", ".join(f"{late:+d}" for late in figures.late_calls)
    rows = [
        ("labels", str(figures.labels)),
        ("stuck, redirected in time", f"{figures.in_time} of {figures.stuck}"),
        ("false redirects", str(figures.false_redirects)),
        ("precision", _percent(figures.precision)),
        ("recall", _percent(figures.recall)),
        ("recall where the label is sure", _percent(figures.recall_sure)),
        ("calls late", lateness or "-"),
    ]
    return output.Table("", (), rows)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _replay_file(
    file: Path, host: str, rules: Rules, seen_calls: set[str] | None = None
) -> tuple[list[ReplayedTurn], int]:
    skipped = 0

    def readable(records: Iterator[ReplayRecord]) -> Iterator[ReplayRecord]:
        nonlocal skipped
        for record in records:
            skipped += isinstance(record, SkippedLine)
            yield record

    return replay(readable(records_of(file, host)), host, rules, seen_calls), skipped


def _table(file: Path, turns: list[ReplayedTurn]) -> output.Table:
    rows = [
        (
            str(turn.turn),
            f"{turn.first_line}-{turn.last_line}",
            str(turn.calls),
            turn.ended,
            "; ".join(f"call {r.call} ({r.rule}): {r.evidence}" for r in turn.redirects),
            f"call {turn.stop_hint.call}" if turn.stop_hint else "",
        )
        for turn in turns
    ]
    return output.Table(str(file), ("turn", "lines", "calls", "ended", "redirects", "hint"), rows)
