"""The golden logs: what earlier versions stored, and what the views made of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from stores import Row, make_store

from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import fingerprint, open_view
from tokeneconomizer.projections.table import PROJECTIONS

FOLDER = Path(__file__).resolve().parents[1] / "golden"


@dataclass(frozen=True)
class GoldenRow:
    """A row as an earlier version stored it."""

    rowid: int
    originator_id: str
    originator_version: int
    topic: str
    state: str

    @property
    def fields(self) -> set[str]:
        return set(json.loads(self.state))


def golden_log(schema: int) -> Path:
    return FOLDER / f"schema-{schema}.jsonl"


def golden_rows(schema: int) -> list[GoldenRow]:
    lines = golden_log(schema).read_text(encoding="utf-8").splitlines()
    return [GoldenRow(**json.loads(line)) for line in lines]


def golden_checksums(schema: int) -> dict[str, str]:
    """What the views made of a log, by `<name>.<schema of the view>`; nothing before it is recorded."""
    path = FOLDER / f"schema-{schema}.checksums.json"
    if not path.exists():
        return {}
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_store(path: Path, schema: int) -> Path:
    """A store that holds a golden log, row by row."""
    return make_store(path, map(_row, golden_rows(schema)))


def checksums_of(store: Path, folder: Path) -> dict[str, str]:
    """What the views of today make of a store."""
    checksums = {}
    for projection in PROJECTIONS:
        with EventLog(store) as log, open_view(folder, projection) as view:
            view.catch_up(log)
            _, checksums[f"{projection.NAME}.{projection.SCHEMA}"] = fingerprint(view)
    return checksums


def _row(row: GoldenRow) -> Row:
    return Row(row.topic, stream=row.originator_id, version=row.originator_version, state=row.state.encode())
