"""JSON with comments and last commas, read and never written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokeneconomizer.console.installations.json_members import object_with_comments

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("// nothing\n", {}),
        ('{"a": 1, // one\n}', {"a": 1}),
        ('{"a": [1, 2,], /* two\n */ "b": {},\n}', {"a": [1, 2], "b": {}}),
        ('{"url": "http://x/*y*/", "b": ",]"}', {"url": "http://x/*y*/", "b": ",]"}),
        ('{"quote": "\\"// no comment"}', {"quote": '"// no comment'}),
        ('{"a": 1, // ends here', None),
        ('{"a": }', None),
        ("[]", None),
        ('\ufeff{"a": 1}', {"a": 1}),
    ],
)
def test_what_it_holds(tmp_path: Path, text: str, value: object) -> None:
    path = tmp_path / "file.jsonc"
    path.write_text(text, encoding="utf-8")
    assert object_with_comments(path) == value


def test_a_file_that_is_not_there_is_empty_and_one_that_is_none_cannot_be_read(tmp_path: Path) -> None:
    assert object_with_comments(tmp_path / "absent") == {}
    assert object_with_comments(tmp_path) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_strict_json_is_read_as_it_is(tmp_path: Path, value: dict[str, object]) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    assert object_with_comments(path) == value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary())
def test_whatever_stands_in_it_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.jsonc"
    path.write_bytes(data)
    object_with_comments(path)
