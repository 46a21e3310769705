"""The ledger as JSON, and when a kept one is given."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from transcripts import transcript_in

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.scheduler import usage_ledger, usage_report
from tokeneconomizer.scheduler.usage_ledger import KEPT_NAME, Ledger, ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import Batch


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    transcript_in(folder, "s1").turn("make test")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As many entries as ledgers were made anew."""
    seen: list[int] = []
    real = usage_report.report

    def noted(*given: object) -> object:
        seen.append(1)
        return real(*given)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(usage_report, "report", noted)
    return seen


def of(user_home: Path, cache: Path | None, timezone: str | None = "UTC") -> Ledger:
    return ledger(find(AgentHomes(user_home), LOGS), timezone, cache)


def test_as_long_as_no_log_changes_the_same_bytes_are_given(
    user_home: Path, cache: Path, made: list[int]
) -> None:
    first = of(user_home, cache)

    assert of(user_home, cache) == first
    assert json.loads(first.text)["sessions"][0]["session_id"] == "s1"
    assert len(made) == 1


@pytest.mark.parametrize("change", ["grown", "added", "removed", "time zone", "version"])
def test_whatever_may_change_it_makes_a_new_one(
    user_home: Path, cache: Path, made: list[int], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of(user_home, cache)
    log = next(user_home.rglob("s1.jsonl"))
    match change:
        case "grown":
            log.write_bytes(log.read_bytes() * 2)
        case "added":
            transcript_in(user_home, "s2").turn("make test")
        case "removed":
            log.unlink()
        case "version":
            monkeypatch.setattr(usage_ledger, "REPORT_VERSION", usage_ledger.REPORT_VERSION + 1)
    zone = "Asia/Tokyo" if change == "time zone" else "UTC"

    assert of(user_home, cache, zone) == of(user_home, None, zone)
    assert len(made) == 3


@pytest.mark.parametrize("content", [b"", b"garbage", b'{"key":1}'])
def test_a_damaged_kept_ledger_costs_time_alone(user_home: Path, cache: Path, content: bytes) -> None:
    whole = of(user_home, cache)
    (cache / KEPT_NAME).write_bytes(content)

    assert of(user_home, cache) == whole


def test_a_ledger_without_a_file_that_could_not_be_read_is_not_kept(
    user_home: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Iterator[Batch]:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as refusing:
        refusing.setattr(LOGS["claude_code"], "read", refuse)
        (found,) = of(user_home, cache).unreadable
        assert found[1] == "Permission denied"

    assert json.loads(of(user_home, cache).text)["sessions"]


def test_a_place_that_cannot_be_written_changes_nothing(user_home: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")

    assert of(user_home, in_the_way / "cache") == of(user_home, None)


@pytest.mark.parametrize("name", ["Nowhere/Land", "../../etc/passwd"])
def test_a_time_zone_that_does_not_exist_is_refused_in_words(user_home: Path, name: str) -> None:
    with pytest.raises(TokeneconomizerError, match=f"no time zone `{name}`"):
        of(user_home, None, name)


def test_what_a_kept_ledger_does_not_need_is_not_imported() -> None:
    program = (
        "import sys, tokeneconomizer.console.main, tokeneconomizer.console.commands.ledger;"
        "print(*sorted({'msgspec', 'orjson', 'rich', 'ruamel', 'structlog', 'eventsourcing', 'hashlib', "
        "'tokeneconomizer.hosts.records', 'tokeneconomizer.domain.digests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
