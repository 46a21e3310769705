"""Documents of `opencode export`, in each layout, whole and damaged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opencode_layouts import document, reply, says, tool, user, write_export

from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted
from tokeneconomizer.hosts.opencode import log, log_export
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedStop,
    LoggedUsage,
    SkippedLine,
)

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_layouts import Json

    from tokeneconomizer.domain.usage_record import UsageRecord

LAYOUTS = ("pretty", "a message a line")


def read(path: Path, cursor: Cursor | None = None, wanted: Wanted = Wanted.ALL) -> Batch:
    (batch,) = log.read(log.file_at(path), cursor, wanted)
    return batch


def usages(batch: Batch) -> list[UsageRecord]:
    return [record.usage for record in batch.records if isinstance(record, LoggedUsage)]


def session() -> Json:
    return document(
        user(1, "mend it"),
        reply(2, "so", tool("bash", "a", output="x"), tool("bash", "b", output="y"), finish="tool-calls"),
        reply(3, "done"),
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_line_is_the_files_own(tmp_path: Path, layout: str) -> None:
    path = write_export(tmp_path / "export.json", session(), layout=layout)
    lines = path.read_text().split("\n")

    records = read(path).records

    calls = [record for record in records if isinstance(record, LoggedCall)]
    for call in calls:
        whole = "\n".join(lines[call.line - 1 :]).lstrip()
        value, _ = json.JSONDecoder().raw_decode(whole)
        assert call.call_id in {value.get("callID"), *(part.get("callID") for part in value.get("parts", []))}
    assert (calls[0].line == calls[1].line) == (layout != "pretty")
    prompt = next(record for record in records if isinstance(record, LoggedPrompt))
    assert '"user"' in "\n".join(lines[prompt.line - 1 : prompt.line + 3])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_layouts_tell_the_same(tmp_path: Path, layout: str) -> None:
    records = read(write_export(tmp_path / "export.json", session(), layout=layout)).records

    assert [type(record) for record in records] == [
        LoggedSession, LoggedPrompt, LoggedUsage, LoggedCall, LoggedResult, LoggedCall, LoggedResult,
        LoggedUsage, LoggedStop,
    ]  # fmt: skip


def test_a_document_is_read_once_and_one_that_changed_is_another(tmp_path: Path) -> None:
    path = write_export(tmp_path / "export.json", session())
    first = read(path)

    assert read(path, first.cursor) == Batch([], first.cursor)
    write_export(path, document(user(1, "mend it"), reply(2, "done")))
    assert (read(path, first.cursor).restarted, len(read(path, first.cursor).records)) == (True, 4)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_document_without_its_end_tells_what_is_whole_until_it_has_one(tmp_path: Path, layout: str) -> None:
    path = write_export(tmp_path / "export.json", session(), layout=layout)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"msg_0003") - 4])

    cut = read(path)
    path.write_bytes(whole)
    rest = read(path, cut.cursor)

    assert cut.records == []
    assert len([record for record in cut.unfinished if isinstance(record, LoggedUsage)]) == 1
    assert (rest.restarted, rest.records) == (False, read(path).records)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damage_costs_the_message_that_it_is_in_and_keeps_its_tokens(tmp_path: Path, layout: str) -> None:
    path = write_export(tmp_path / "export.json", session(), layout=layout)
    path.write_bytes(path.read_bytes().replace(b'"bash"', b'"ba"sh"', 1))
    whole = read(write_export(tmp_path / "whole.json", session(), layout=layout))

    found = read(path)

    assert found.records[0] == SkippedLine(1, 3)
    assert usages(found) == usages(whole)
    assert not [record for record in found.records if isinstance(record, LoggedCall)]
    assert found.cursor.skipped == 1


@pytest.mark.parametrize("half", [rb"\ud83d", rb"\udc00 and more", rb"\\\ud83d"])
def test_half_a_character_costs_nothing(tmp_path: Path, half: bytes) -> None:
    path = write_export(tmp_path / "export.json", document(user(1, "mend it", says("HALF", synthetic=True))))
    path.write_bytes(path.read_bytes().replace(b"HALF", half))

    found = read(path)

    assert [type(record) for record in found.records] == [LoggedSession, LoggedPrompt]


@pytest.mark.parametrize("text", ["\ud83d\ude00", r"\ud83d"])
def test_whole_characters_and_texts_that_look_like_halves_stay(tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.json"
    written = json.dumps(document(user(1, text, says("HALF", synthetic=True)))).encode()
    path.write_bytes(written.replace(b"HALF", rb"\ud83d"))

    (prompt,) = [record for record in read(path).records if isinstance(record, LoggedPrompt)]

    assert prompt.text == json.loads(json.dumps(text))


@pytest.mark.parametrize("content", [b"", b" \n", b"{}", b'{"info": {}, "messages": []}', b"[1, 2]"])
def test_what_holds_no_session_tells_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(content)

    batch = read(path)

    assert not [one for one in [*batch.records, *batch.unfinished] if not isinstance(one, SkippedLine)]


@pytest.mark.parametrize(
    "message", [7, None, [], {"info": 7}, {"parts": 7}, {"info": {"role": "user"}, "parts": [7]}]
)
def test_a_message_of_another_shape_costs_only_itself(tmp_path: Path, message: object) -> None:
    whole = session()
    whole["messages"].insert(1, message)

    records = read(write_export(tmp_path / "export.json", whole)).records

    assert len([record for record in records if isinstance(record, LoggedUsage)]) == 2


def test_a_document_too_large_to_hold_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_export(tmp_path / "export.json", session())
    monkeypatch.setattr(log_export, "DOCUMENT_BYTES_MAX", 100)

    with pytest.raises(OSError, match="larger than 100 bytes"):
        read(path)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=12),
    st.sampled_from(LAYOUTS),
    st.sampled_from(Wanted),
)
def test_damage_adds_no_reply_and_never_raises(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]], layout: str, wanted: Wanted
) -> None:
    path = write_export(tmp_path_factory.mktemp("damage") / "export.json", session(), layout=layout)
    content = bytearray(path.read_bytes())
    for at, byte in damage:
        content[at % len(content)] = byte
    path.write_bytes(content)

    batch = read(path, None, wanted)

    assert sum(isinstance(record, LoggedUsage) for record in [*batch.records, *batch.unfinished]) <= 2
