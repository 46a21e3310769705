"""What any released version stored must keep loading and folding, for ever."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from event_samples import event_classes, fields_of
from eventsourcing.persistence import StoredEvent
from golden import checksums_of, golden_checksums, golden_log, golden_rows, write_store

from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.store import STORE_SCHEMA, FlatMapper, OrjsonTranscoder

if TYPE_CHECKING:
    from eventsourcing.domain import Aggregate

SCHEMAS = range(1, STORE_SCHEMA + 1)
RECORD = Path(__file__).with_name("record.py")
TOPICS = event_classes()
KEPT_BESIDE_THE_FIELDS = {"timestamp", "originator_topic", "class_version"}


def files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in RECORD.parent.glob("schema-*")}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_event_is_made_again_and_applied_to_its_aggregate(schema: int) -> None:
    mapper = FlatMapper(OrjsonTranscoder())
    aggregates: dict[str, Aggregate | None] = {}
    for row in golden_rows(schema):
        stored = StoredEvent(UUID(row.originator_id), row.originator_version, row.topic, row.state.encode())
        event = mapper.to_domain_event(stored)
        assert type(event) is TOPICS[row.topic]
        aggregate = event.mutate(aggregates.get(row.originator_id))
        assert aggregate is not None
        assert aggregate.version == row.originator_version
        aggregates[row.originator_id] = aggregate


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_event_has_the_fields_of_today_when_it_is_read_as_a_row(schema: int, tmp_path: Path) -> None:
    with EventLog(write_store(tmp_path / "events.db", schema)) as log:
        for entry in log.entries():
            assert isinstance(entry, EventRow)
            assert set(entry.data) == set(fields_of(TOPICS[entry.topic]))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_view_sets_an_event_aside(schema: int, tmp_path: Path) -> None:
    with EventLog(write_store(tmp_path / "events.db", schema)) as log:
        for projection in PROJECTIONS:
            with open_view(tmp_path, projection) as view:
                view.catch_up(log)
                assert view.set_aside() == []
                assert view.position() == len(golden_rows(schema))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_rows_of_a_view_are_the_same_while_its_schema_is(schema: int, tmp_path: Path) -> None:
    found = checksums_of(write_store(tmp_path / "events.db", schema), tmp_path)
    kept = golden_checksums(schema)
    assert found == {name: kept.get(name) for name in found}, f"raise SCHEMA, then run {RECORD}"


@pytest.mark.parametrize("topic", TOPICS)
def test_the_newest_log_shows_every_field_of_every_event(topic: str) -> None:
    shown: set[str] = set()
    for row in golden_rows(STORE_SCHEMA):
        if row.topic == topic:
            shown |= row.fields
    assert set(fields_of(TOPICS[topic])) == shown - KEPT_BESIDE_THE_FIELDS, (
        "an event has other fields than the program stored at this schema: give a new field a default and an "
        f"upcast, raise STORE_SCHEMA, then run {RECORD}"
    )


def test_recording_changes_nothing_that_is_there() -> None:
    before = files()
    assert {golden_log(schema).name for schema in SCHEMAS} <= set(before)
    subprocess.run([sys.executable, str(RECORD)], check=True, capture_output=True)
    assert files() == before


def test_every_line_is_json_with_the_columns_of_the_store() -> None:
    for schema in SCHEMAS:
        for number, line in enumerate(golden_log(schema).read_text(encoding="utf-8").splitlines(), 1):
            row = json.loads(line)
            assert list(row) == ["rowid", "originator_id", "originator_version", "topic", "state"]
            assert row["rowid"] == number
