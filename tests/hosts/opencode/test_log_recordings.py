"""
Recorded sessions of the corpus: every file is read, its tokens are the reference's, its turns the manifest's.

The reference is `ccusage`, over the exports laid out as the older store. It differs in three ways, in which
the lines prove it wrong:

* it adds up the tokens of a reply as they stand. Up to 1.3 `output` holds the reasoning already, which the
  reply's own `total` shows: input + output + cached;
* it counts one of all replies whose id is `REDACTED`, as the recorder blanked out. They are as many replies
  as they have times, and are counted here where the layout keeps them apart (in an export, not in files);
* where `output` has no reasoning in it, it keeps that apart and leaves it out of `outputTokens`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opencode_layouts import document, insert, open_database, write_storage

from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.log_format import AgentHomes, LogFile, Wanted
from tokeneconomizer.hosts.opencode import log
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedUsage,
    Record,
    SessionOrigin,
    SkippedLine,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.usage_record import UsageRecord

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[4] / "shared")
LAB = CORPUS / "transcripts" / "opencode"
REAL = CORPUS / "transcripts" / "real"
EXPORTS = REAL / "opencode" / "export"
BLANKED_ID = "REDACTED"

pytestmark = pytest.mark.skipif(
    not EXPORTS.is_dir(), reason="no recorded sessions: name their folder in TOKENECONOMIZER_CORPUS"
)


def records_of(file: LogFile, wanted: Wanted = Wanted.ALL) -> Iterator[Record]:
    for batch in log.read(file, None, wanted):
        yield from batch.records
        yield from batch.unfinished


def usages_of(file: LogFile) -> list[UsageRecord]:
    return [one.usage for one in records_of(file, Wanted.USAGE) if isinstance(one, LoggedUsage)]


def exports() -> list[Path]:
    return [Path(file.path) for file in log.exports_in(EXPORTS)] if EXPORTS.is_dir() else []


def reference(report: str) -> list[dict[str, Any]]:
    (rows,) = [
        value
        for value in json.loads((REAL / "ccusage" / report).read_bytes()).values()
        if isinstance(value, list)
    ]
    return rows


def recorded_replies(path: Path) -> list[dict[str, Any]]:
    messages = [message["info"] for message in json.loads(path.read_bytes())["messages"]]
    return [info for info in messages if info["role"] == "assistant"]


def as_the_reference_counts(usage: UsageRecord, reply: dict[str, Any]) -> Counter[str]:
    """Return a reply's tokens in the reference's fields: `output` is as the line has it."""
    assert usage.input is not None
    assert usage.cache_read is not None
    return Counter(
        inputTokens=usage.input,
        outputTokens=reply["tokens"]["output"],
        cacheReadTokens=usage.cache_read,
        cacheCreationTokens=usage.cache_write_5m or 0,
    )


@pytest.mark.parametrize("path", exports(), ids=lambda path: path.stem)
def test_the_tokens_of_a_session_are_the_references(path: Path) -> None:
    replies = {f"{reply['id']}@{reply['time']['created']}": reply for reply in recorded_replies(path)}
    (row,) = [row for row in reference("opencode-session.json") if row["sessionId"] == path.stem]
    counted, blanked = Counter[str](), list[Counter[str]]()

    for usage in usages_of(log.file_at(path)):
        reply = replies[usage.usage_id]
        total, reasoning = reply["tokens"]["total"], reply["tokens"]["reasoning"]
        assert usage.output is not None
        assert (usage.input or 0) + usage.output + (usage.cache_read or 0) + (
            usage.cache_write_5m or 0
        ) == total
        assert usage.reasoning == reasoning
        tokens = as_the_reference_counts(usage, reply)
        if reply["id"] == BLANKED_ID:
            blanked.append(tokens)
        else:
            counted += tokens

    expected = +Counter({name: row[name] for name in as_the_reference_counts(usage, reply)})
    assert expected in [counted, *(counted + one for one in blanked)]


def test_the_tokens_of_a_day_and_model_are_the_references() -> None:
    counted: dict[tuple[str, str], Counter[str]] = {}
    with_blanked = set()
    for path in exports():
        replies = {f"{reply['id']}@{reply['time']['created']}": reply for reply in recorded_replies(path)}
        for usage in usages_of(log.file_at(path)):
            assert usage.at is not None
            day = (usage.at.date().isoformat(), usage.model)
            if replies[usage.usage_id]["id"] == BLANKED_ID:
                with_blanked.add(day)
            counted.setdefault(day, Counter()).update(as_the_reference_counts(usage, replies[usage.usage_id]))

    for row in reference("opencode-daily.json"):
        for model in row["modelBreakdowns"]:
            day = (row["date"], model["modelName"])
            if day not in with_blanked:
                assert {name: model[name] for name in counted[day]} == dict(counted[day])
    assert {row["date"] for row in reference("opencode-daily.json")} == {day for day, _ in counted}


CENSUS = {
    # source: sessions, prompts, calls, failed, compactions
    "nimbus": (15, 15, 305, 4, 0),
    "gatomia-vscode": (10, 11, 401, 46, 0),
    "pi.dev": (1, 5, 0, 0, 0),
    # The manifest has 58 prompts: 17 are notes of a plugin, marked as ignored, which the model never saw. It
    # has 65 failed calls: 8 more ran into their time limit, and have no exit code.
    "dotfiles": (7, 58 - 17, 936, 65 + 8, 0),
}


@pytest.mark.parametrize("source", CENSUS)
def test_turns_and_calls_are_the_manifests(source: str) -> None:
    records = [
        one for path in exports() if path.parent.name == source for one in records_of(log.file_at(path))
    ]

    def count(kind: type) -> int:
        return sum(isinstance(record, kind) for record in records)

    failed = sum(
        isinstance(record, LoggedResult) and record.status is not CallStatus.OK for record in records
    )
    assert (
        count(LoggedSession), count(LoggedPrompt), count(LoggedCall), failed, count(LoggedCompaction),
    ) == CENSUS[source]  # fmt: skip
    assert count(SkippedLine) == 0


def test_a_session_tells_the_same_in_every_form(tmp_path: Path) -> None:
    sessions = [json.loads(path.read_bytes()) for path in exports() if path.parent.name != "nimbus"]
    data = tmp_path / ".local" / "share" / "opencode"
    write_storage(data / "storage", *sessions)
    of_exports = {
        usage for path in exports() if path.parent.name != "nimbus" for usage in usages_of(log.file_at(path))
    }

    of_files = {usage for file in log.files(AgentHomes(tmp_path)) for usage in usages_of(file)}
    with closing(open_database(data / "opencode.db")) as database:
        for session in sessions:
            insert(database, session, session["messages"])
    (file,) = log.files(AgentHomes(tmp_path))

    assert of_files == of_exports == set(usages_of(file))


@pytest.mark.parametrize("path", sorted(LAB.glob("*")) if LAB.is_dir() else [], ids=lambda path: path.name)
def test_every_file_of_the_lab_is_read(path: Path) -> None:
    list(records_of(log.file_at(path)))


def test_the_sample_database_tells_what_the_export_of_its_session_tells() -> None:
    of_database = usages_of(log.file_at(LAB / "opencode_sample.db"))
    of_export = usages_of(log.file_at(LAB / "export_tools_run.json"))

    assert len(of_export) == 4
    assert [usage for usage in of_database if usage.session_id == of_export[0].session_id] == of_export
    assert sum(usage.input or 0 for usage in of_export) == 1560


def test_a_recorded_fork_counts_only_its_own_reply(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (LAB / "rows_forked.jsonl").read_text().splitlines()]
    with closing(open_database(tmp_path / "opencode.db")) as database:
        for row in rows:
            if row["table"] == "session":
                time = {"created": row["time_created"]}
                insert(database, document(session_id=row["id"], time=time), [])
            if row["table"] == "message":
                fields = (row["id"], row["session_id"], row["time_created"], json.dumps(row["data"]))
                database.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", fields)

    found = list(records_of(log.file_at(tmp_path / "opencode.db")))

    sessions = [one.origin for one in found if isinstance(one, LoggedSession)]
    assert sessions == [SessionOrigin.NEW, SessionOrigin.FORK]
    assert [one.usage.input for one in found if isinstance(one, LoggedUsage)] == [1000, 1000]
