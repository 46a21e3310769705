"""An agent that writes its file itself, by renaming or in place, between any two system calls of ours."""

import json
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_swaps import CALLS_MAX, Swapper, between_calls

from tokeneconomizer.writers import replacing
from tokeneconomizer.writers.edits import AddElement
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.guarded_write import Outcome, Surroundings, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.strict_json import STRICT_JSON

EDITS = [AddElement(("permissions", "deny"), "Workflow")]
if TYPE_CHECKING:
    from collections.abc import Callable

CALLS_OF_A_WRITE = 10
"""Opening, reading, writing, renaming: nobody writes a file twice while we make fewer calls."""

UNTRACKED = Surroundings(is_tracked=lambda _file: False)


def add_key(file: Path, key: str) -> None:
    """Do as an agent does: read, add a setting, write beside it and rename."""
    value = value_of(file)
    beside = file.with_name("settings.json.agent")
    beside.write_text(json.dumps(value | {key: True}))
    beside.rename(file)


@st.composite
def moments(draw: st.DrawFn) -> list[int]:
    """Numbers of our calls before which the agent writes, with the time between that a write takes."""
    gaps = draw(st.lists(st.integers(CALLS_OF_A_WRITE, CALLS_MAX), min_size=1, max_size=5))
    return list(accumulate(gaps, initial=draw(st.integers(1, CALLS_MAX))))


@given(moments(), st.booleans())
def test_nothing_that_the_agent_writes_is_lost(numbers: list[int], has_file: bool) -> None:  # S6.6
    with TemporaryDirectory() as folder:
        file = Path(folder) / "settings.json"
        if has_file:
            file.write_text('{"first": true}')
        place = Place(Path(folder), file)
        actions: dict[int, Callable[[], None]] = {
            number: lambda number=number: add_key(file, str(number)) for number in numbers
        }
        swapper = Swapper(actions)
        outcome, reason = attempt(swapper, lambda: write_edits(place, EDITS, STRICT_JSON, UNTRACKED))
        assert reason in {None, Reason.CHANGED_MEANWHILE}
        assert ("permissions" in value_of(file)) == (reason is None)
        if outcome is not None and outcome.applied is not None:
            applied = outcome.applied
            _, reason = attempt(swapper, lambda: restore(place, applied, STRICT_JSON, UNTRACKED))
            assert reason in {None, Reason.CHANGED_MEANWHILE}
            assert ("permissions" in value_of(file)) == (reason is not None)
        made = {str(number) for number in numbers if number <= swapper.calls}
        assert made | ({"first"} if has_file else set()) <= set(value_of(file))
        assert [path.name for path in Path(folder).iterdir()] in ([], ["settings.json"])


def attempt(swapper: Swapper, act: "Callable[[], Outcome]") -> tuple[Outcome | None, Reason | None]:
    with between_calls(swapper):
        try:
            return act(), None
        except WriteRefused as refused:
            return None, refused.reason


def value_of(file: Path) -> dict[str, object]:
    value = json.loads(file.read_bytes()) if file.exists() else {}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("has_file", [True, False])
def test_a_system_that_cannot_exchange_names_still_writes(
    has_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacing, "exchange", lambda *_: False)
    file = tmp_path / "settings.json"
    if has_file:
        file.write_text("{}")
    write_edits(Place(tmp_path, file), EDITS, STRICT_JSON)
    assert json.loads(file.read_bytes()) == {"permissions": {"deny": ["Workflow"]}}
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_a_file_system_without_hard_links_still_gets_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **_more: object) -> None:
        raise PermissionError

    monkeypatch.setattr(replacing.os, "link", refuse)
    file = tmp_path / "settings.json"
    write_edits(Place(tmp_path, file), EDITS, STRICT_JSON)
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]
