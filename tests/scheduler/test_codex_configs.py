"""Recorded shapes of Codex's project configuration: the right edit or the right refusal, and back again."""

import json
import tomllib
from pathlib import Path

import pytest
from deny_list_runs import Checkout
from log_reading import CORPUS

FOLDER = CORPUS / "configs" / "codex"
NAMES = ["goals", "image_media", "collaboration"]
MARK = b"# tokeneconomizer:"

CASES = json.loads((FOLDER / "cases.json").read_text())["cases"] if FOLDER.is_dir() else []

pytestmark = pytest.mark.skipif(
    not CASES, reason="no recorded configurations: name their folder in TOKENECONOMIZER_CORPUS"
)


def value_of(data: bytes) -> object:
    return tomllib.loads(data.decode("utf-8-sig"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_recorded_configuration_is_edited_or_refused_and_comes_back(
    case: dict[str, str], tmp_path: Path
) -> None:
    checkout = Checkout(tmp_path, "codex")
    before = (FOLDER / case["input"]).read_bytes() if case["input"] else None
    if before is not None:
        checkout.write(before)
    answer = checkout.deny_list().apply(NAMES)
    after = checkout.read()
    outcome = "refused" if answer.refused else ("edited" if answer.written else "unchanged")
    assert outcome == case["outcome"]
    if outcome == "edited":
        assert value_of(after or b"") == value_of((FOLDER / case["expected"]).read_bytes())
        lines = (after or b"").splitlines(keepends=True)
        theirs = b"".join(line for line in lines if MARK not in line or line in (before or b""))
        # A last line without its end gets one where ours follow it.
        assert theirs in {before or b"", (before or b"") + b"\n"}
        assert {name for name in NAMES if name in answer.added} == set(answer.added)
    else:
        assert after == before
    restored = checkout.deny_list().restore()
    assert checkout.read() == before
    assert restored.removed == answer.added
