from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts import log_lines
from tokeneconomizer.hosts.fields import text, whole_number
from tokeneconomizer.hosts.log_files import mark_of
from tokeneconomizer.hosts.log_format import Batch, Cursor, State, Wanted
from tokeneconomizer.hosts.log_lines import read_lines
from tokeneconomizer.hosts.records import LoggedStop, LoggedUsage, Record, SkippedLine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _Line(msgspec.Struct):
    id: str = ""
    tokens: int | None = None
    model: str = ""


_DECODER = msgspec.json.Decoder(_Line)


class Reader:
    """The least format: `{"id", "tokens"}`, `{"id", "model"}` for all that follows, `{"id", "stop"}`."""

    USAGE_MARKERS = (b'"tokens"', b'"model"')
    RECORD_MARKERS = (b'"stop"',)

    def __init__(self, state: State) -> None:
        self._model = str(state.get("model", ""))

    def usage(self, raw: bytes) -> list[UsageRecord]:
        line = _DECODER.decode(raw)
        self._model = line.model or self._model
        return [] if line.tokens is None or not line.id else [usage(line.id, line.tokens, self._model)]

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        return [LoggedStop(number, None, text(line, "stop"))] if "stop" in line else []

    def is_record(self, found: Mapping[str, object]) -> bool:
        return bool(text(found, "id")) and (whole_number(found, "tokens") is not None or len(found) > 1)

    def state(self) -> State:
        return {"model": self._model}


def usage(usage_id: str, tokens: int, model: str = "") -> UsageRecord:
    return UsageRecord(usage_id, "s", "", "", None, model, "", tokens, None, None, None, None, None)


def batches(path: Path, cursor: Cursor | None = None, wanted: Wanted = Wanted.ALL) -> list[Batch]:
    return list(read_lines(str(path), Reader, cursor, wanted))


def records(found: list[Batch], *, unfinished: bool = True) -> list[Record]:
    whole = [record for batch in found for record in batch.records]
    return whole + (found[-1].unfinished if unfinished else [])


def written(folder: Path, content: bytes) -> Path:
    path = folder / "log.jsonl"
    path.write_bytes(content)
    return path


ONE = b'{"id":"a","tokens":1}'
TWO = b'{"id":"b","tokens":2}'
STOP = b'{"id":"c","stop":"stop"}'
MODEL = b'{"id":"m","model":"m1"}'


def used(line: int, usage_id: str, tokens: int, model: str = "") -> LoggedUsage:
    return LoggedUsage(line, usage(usage_id, tokens, model))


@pytest.mark.parametrize(
    ("content", "expected", "skipped"),
    [
        pytest.param(b"", [], 0, id="an empty file holds nothing"),
        pytest.param(
            ONE + b"\n\n" + TWO + b"\n", [used(1, "a", 1), used(3, "b", 2)], 0, id="blank lines count"
        ),
        pytest.param(ONE + b"\r\n" + TWO + b"\r\n", [used(1, "a", 1), used(2, "b", 2)], 0, id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + ONE + b"\n", [used(1, "a", 1)], 0, id="a byte order mark"),
        pytest.param(MODEL + b"\n" + ONE + b"\n", [used(2, "a", 1, "m1")], 0, id="what later lines need"),
        pytest.param(
            ONE + b"\n" + STOP, [used(1, "a", 1), LoggedStop(2, None, "stop")], 0, id="an end without newline"
        ),
        pytest.param(
            b'{"id":"a","tokens":1,"text":"\\ud83d"}\n',
            [used(1, "a", 1)],
            0,
            id="half a character",
        ),
        pytest.param(b"garbage\n" + ONE + b"\n", [SkippedLine(1), used(2, "a", 1)], 1, id="garbage"),
        pytest.param(b"[1]\n" + ONE + b"\n", [SkippedLine(1), used(2, "a", 1)], 1, id="a list is no record"),
        pytest.param(
            b'{"id":"x","tok' + ONE + b"\n" + TWO + b"\n",
            [SkippedLine(1, 1), used(1, "a", 1), used(2, "b", 2)],
            1,
            id="what follows a cut on its line is read",
        ),
        pytest.param(
            ONE + b'{"id":"x","tok\n',
            [SkippedLine(1, 1), used(1, "a", 1)],
            1,
            id="before a splice",
        ),
        pytest.param(
            ONE + TWO + b"\n", [SkippedLine(1, 2), used(1, "a", 1), used(1, "b", 2)], 1, id="two on a line"
        ),
        pytest.param(
            b"\0" * 64 + ONE + b"\n",
            [SkippedLine(1, 1), used(1, "a", 1)],
            1,
            id="NUL bytes",
        ),
        pytest.param(
            b'{"id":"x","cut":{"tokens":5},"te' + ONE + b"\n",
            [SkippedLine(1, 1), used(1, "a", 1)],
            1,
            id="a part of a cut record is no record",
        ),
        pytest.param(b'{"id":"x","tokens":NaN}\n', [SkippedLine(1)], 1, id="no JSON number"),
        pytest.param(b'{"id":"x","tok', [SkippedLine(1)], 0, id="a line not yet whole"),
    ],
)
def test_damage_loses_only_itself(
    tmp_path: Path, content: bytes, expected: list[Record], skipped: int
) -> None:
    found = batches(written(tmp_path, content))

    assert records(found) == expected
    assert found[-1].cursor.skipped == skipped


def test_tokens_alone_are_the_same_without_the_rest(tmp_path: Path) -> None:
    path = written(tmp_path, b"\n".join([MODEL, ONE, STOP, b"garbage", TWO, b""]))

    found = records(batches(path, wanted=Wanted.USAGE))

    assert found == [used(2, "a", 1, "m1"), SkippedLine(4), used(5, "b", 2, "m1")]


def test_a_second_reading_gives_only_what_is_new(tmp_path: Path) -> None:
    path = written(tmp_path, MODEL + b"\n" + ONE + b"\n")
    cursor = batches(path)[-1].cursor
    with path.open("ab") as file:
        file.write(TWO + b"\n")

    found = batches(path, cursor)

    assert records(found) == [used(3, "b", 2, "m1")]
    assert not found[0].restarted
    assert records(batches(path, found[-1].cursor)) == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.write_bytes(TWO + b"\n"), id="rewritten in place"),
        pytest.param(lambda path: path.write_bytes(b""), id="emptied"),
        pytest.param(
            lambda path: (
                path.with_name("new").write_bytes(path.read_bytes()),
                path.with_name("new").replace(path),
            ),
            id="replaced by a copy",
        ),
        pytest.param(lambda path: path.write_bytes(STOP + b"\n" + path.read_bytes()), id="shifted"),
    ],
)
def test_another_file_under_the_name_is_read_from_its_beginning(tmp_path: Path, change: object) -> None:
    path = written(tmp_path, ONE + b"\n" + TWO + b"\n")
    cursor = batches(path)[-1].cursor
    assert callable(change)
    change(path)

    found = batches(path, cursor)

    assert found[0].restarted
    assert records(found) == records(batches(path))


def test_a_file_that_is_gone_or_no_file_raises(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for path in (tmp_path / "absent", pipe, tmp_path):
        with pytest.raises(OSError, match=r"."):
            batches(path)


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "BLOCK_BYTES", 64)
    monkeypatch.setattr(log_lines, "LINE_BYTES_MAX", 256)
    long = b'{"id":"l","tokens":9,"text":"' + b"x" * 1_000 + b'"}'
    path = written(tmp_path, ONE + b"\n" + long + b"\n" + TWO + b"\n" + long)

    found = batches(path)

    assert records(found) == [used(1, "a", 1), SkippedLine(2), used(3, "b", 2), SkippedLine(4)]
    assert found[-1].cursor.lines == 3


def test_a_mark_differs_when_a_file_grows_and_when_it_goes(tmp_path: Path) -> None:
    path = written(tmp_path, ONE + b"\n")
    before = mark_of(str(path))
    with path.open("ab") as file:
        file.write(TWO + b"\n")

    assert mark_of(str(path)) != before
    path.unlink()
    assert mark_of(str(path)) == "absent"


LINES = st.lists(
    st.one_of(
        st.sampled_from([ONE, TWO, STOP, MODEL, b"", b"garbage", b'{"id":"x","to' + ONE, b"\0\0" + TWO]),
        st.builds(
            lambda name, tokens: json.dumps({"id": name, "tokens": tokens}).encode(),
            st.text(min_size=1, max_size=5),
            st.integers(0, 10**6),
        ),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(lines=LINES, data=st.data(), ends=st.booleans(), block=st.sampled_from([1, 7, 64, 8_388_608]))
def test_any_split_into_readings_gives_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject, ends: bool, block: int
) -> None:
    content = b"\n".join(lines) + (b"\n" if ends else b"")
    cut = data.draw(st.integers(0, len(content)))
    folder = tmp_path_factory.mktemp("split")
    whole = batches(written(folder, content))
    path = written(folder, content[:cut])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log_lines, "BLOCK_BYTES", block)
        first = batches(path)
        with path.open("ab") as file:
            file.write(content[cut:])
        second = batches(path, first[-1].cursor)

    assert records(first, unfinished=False) + records(second) == records(whole)
    assert second[-1].cursor.skipped == whole[-1].cursor.skipped
    assert second[-1].cursor.lines == whole[-1].cursor.lines


@settings(deadline=None, max_examples=100)
@given(lines=LINES, data=st.data(), noise=st.sampled_from([b"\0", b"\xff", b"\n"]))
def test_damage_never_raises_and_never_adds_a_token(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject, noise: bytes
) -> None:
    content = b"\n".join(lines) + b"\n"
    start = data.draw(st.integers(0, len(content) - 1))
    end = data.draw(st.integers(start, len(content)))
    folder = tmp_path_factory.mktemp("damage")
    before = Counter(map(key, usages(batches(written(folder, content)))))

    after = usages(batches(written(folder, content[:start] + noise * (end - start) + content[end:])))

    assert not Counter(map(key, after)) - before


def usages(found: list[Batch]) -> list[LoggedUsage]:
    return [record for record in records(found) if isinstance(record, LoggedUsage)]


def key(record: LoggedUsage) -> tuple[str, int | None]:
    return record.usage.usage_id, record.usage.input
