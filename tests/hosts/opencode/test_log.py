"""Where opencode's logs are, and that its three forms tell the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from opencode_layouts import (
    document,
    reply,
    says,
    tool,
    user,
    write_database,
    write_export,
    write_storage,
)

from tokeneconomizer.hosts.log_format import AgentHomes, LogFile, LogFormat, Wanted
from tokeneconomizer.hosts.opencode import log
from tokeneconomizer.hosts.records import LoggedUsage, Record

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_layouts import Json


def data_folder(home: Path) -> Path:
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    return folder


def records_of(file: LogFile, wanted: Wanted = Wanted.ALL) -> list[Record]:
    return [
        record for batch in log.read(file, None, wanted) for record in [*batch.records, *batch.unfinished]
    ]


def a_session(session_id: str = "ses_1") -> Json:
    return document(
        user(-9, "copied"),
        reply(-8, "copied"),
        user(1, "mend it", says("added", synthetic=True)),
        reply(
            2,
            {"type": "step-start"},
            tool("bash", "a", output="x", metadata={"exit": 1}),
            finish="tool-calls",
        ),
        reply(3, "done"),
        user(4, {"type": "compaction", "auto": False}),
        reply(5, "so far", summary=True, parentID="msg_0004"),
        user(6, "and this"),
        session_id=session_id,
    )


def test_the_module_is_a_log_format() -> None:
    offered: LogFormat = log

    assert offered.NAME == "opencode"


def test_where_opencode_was_never_used_there_are_no_files(tmp_path: Path) -> None:
    assert log.files(AgentHomes(tmp_path)) == []


def test_databases_of_each_channel_come_before_sessions_that_are_only_files(tmp_path: Path) -> None:
    data = data_folder(tmp_path)
    for name in ("opencode.db", "opencode-dev.db"):
        write_database(data / name)
    write_storage(data / "storage", a_session())

    assert [(file.form, file.path.removeprefix(f"{data}/")) for file in log.files(AgentHomes(tmp_path))] == [
        ("database", "opencode-dev.db"),
        ("database", "opencode.db"),
        ("storage", "storage/session/project/ses_1.json"),
    ]


def test_files_that_the_database_took_over_are_no_log(tmp_path: Path) -> None:
    data = data_folder(tmp_path)
    write_database(data / "opencode.db", a_session())
    write_storage(data / "storage", a_session(), a_session("ses_2"))

    assert [file.path.rpartition("/")[2] for file in log.files(AgentHomes(tmp_path))] == [
        "opencode.db",
        "ses_2.json",
    ]


def test_files_are_read_while_the_database_cannot_be(tmp_path: Path) -> None:
    data = data_folder(tmp_path)
    (data / "opencode.db").write_bytes(b"no database")
    write_storage(data / "storage", a_session())

    assert [file.form for file in log.files(AgentHomes(tmp_path))] == ["database", "storage"]


def test_the_data_folder_may_be_elsewhere(tmp_path: Path) -> None:
    data = tmp_path / "elsewhere" / "opencode"
    data.mkdir(parents=True)
    write_database(data / "opencode.db")

    homes = AgentHomes(tmp_path, {"XDG_DATA_HOME": str(tmp_path / "elsewhere")})

    assert [file.path for file in log.files(homes)] == [str(data / "opencode.db")]


def test_a_file_that_is_named_is_known_by_what_it_is(tmp_path: Path) -> None:
    write_storage(tmp_path / "storage", a_session())
    own = tmp_path / "storage" / "session" / "project" / "ses_1.json"

    for path, form in (
        (write_database(tmp_path / "copy of a database"), "database"),
        (write_export(tmp_path / "export.json", a_session()), "export"),
        (own, "storage"),
        (tmp_path / "storage" / "message" / "ses_1", "storage"),
        (tmp_path / "absent.db", "database"),
        (tmp_path, "export"),
    ):
        assert log.file_at(path).form == form


def test_the_documents_in_a_folder_are_found_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    first = write_export(tmp_path / "a.json", a_session())
    second = write_export(tmp_path / "more" / "b.json", a_session("ses_2"))

    assert [file.path for file in log.exports_in(tmp_path)] == [str(first), str(second)]


@pytest.mark.parametrize("wanted", Wanted)
def test_the_three_forms_tell_the_same(tmp_path: Path, wanted: Wanted) -> None:
    write_storage(tmp_path / "storage", a_session())
    paths = (
        write_database(tmp_path / "opencode.db", a_session()),
        tmp_path / "storage" / "session" / "project" / "ses_1.json",
        write_export(tmp_path / "a.json", a_session(), layout="a message a line"),
    )

    database, storage, export = (
        [replace(record, line=0) for record in records_of(log.file_at(path), wanted)] for path in paths
    )

    # What still may change is behind a header of its own.
    first_of_type = {repr(record): record for record in database}
    assert list(first_of_type.values()) == export
    assert list({repr(record): record for record in storage}.values()) == export


def test_tokens_alone_are_the_same_as_with_all_else(tmp_path: Path) -> None:
    file = log.file_at(write_database(tmp_path / "opencode.db", a_session()))

    assert [record for record in records_of(file) if isinstance(record, LoggedUsage)] == [
        record for record in records_of(file, Wanted.USAGE) if isinstance(record, LoggedUsage)
    ]


@pytest.mark.parametrize("form", ["database", "storage", "export"])
def test_what_vanished_is_told_as_such(tmp_path: Path, form: str) -> None:
    file = LogFile("opencode", str(tmp_path / "session" / "project" / "absent"), form)

    assert log.mark(file)
    with pytest.raises(FileNotFoundError):
        list(log.read(file, None, Wanted.USAGE))
