from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.scheduler import cached

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_kept_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "kept.msgpack"
    cached.keep(path, {"a": 1})

    assert cached.load(path, dict[str, int]) == {"a": 1}


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x81\xa1a\xa1b"])
def test_what_is_damaged_or_of_another_kind_is_not_there(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "kept.msgpack"
    path.write_bytes(content)

    assert cached.load(path, dict[str, int]) is None
    assert cached.load(tmp_path / "absent", dict[str, int]) is None


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")

    cached.keep(in_the_way / "kept.msgpack", {"a": 1})

    assert in_the_way.read_text() == ""
