from __future__ import annotations

import json
import logging
import os
import stat
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.scheduler import log as daemon_log
from tokeneconomizer.scheduler.log import LOG_FILES_KEPT, open_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import structlog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "daemon.log"


def rotating_files() -> list[RotatingFileHandler]:
    handlers = logging.getLogger("tokeneconomizer").handlers
    return [handler for handler in handlers if isinstance(handler, RotatingFileHandler)]


@pytest.fixture
def log(path: Path) -> Iterator[structlog.stdlib.BoundLogger]:
    umask = os.umask(0o022)
    yield open_log(path)
    os.umask(umask)
    for handler in rotating_files():
        handler.close()
        logging.getLogger("tokeneconomizer").removeHandler(handler)


def stumble() -> None:
    raise RuntimeError


def test_each_entry_is_an_object_on_a_line_of_its_own(
    path: Path,
    log: structlog.stdlib.BoundLogger,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What pytest collects for its own report must not hold half a character.
    monkeypatch.setattr(logging.getLogger("tokeneconomizer"), "handlers", rotating_files())
    log.info("daemon listens", pid=7)
    log.debug("not said")
    try:
        stumble()
    except RuntimeError:
        log.exception("request failed", file="two\nlines", half="\ud800")
    log.warning("and on")

    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(entry["level"], entry["event"]) for entry in entries] == [
        ("info", "daemon listens"),
        ("error", "request failed"),
        ("warning", "and on"),
    ]
    assert entries[0]["pid"] == 7
    assert (entries[1]["file"], entries[1]["half"]) == ("two\nlines", "\ud800")
    assert entries[0]["timestamp"].endswith("Z")
    assert "RuntimeError" in entries[1]["exception"]
    assert capsys.readouterr() == ("", "")


def test_files_are_few_and_for_the_user_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch, log: structlog.stdlib.BoundLogger
) -> None:
    (handler,) = rotating_files()
    monkeypatch.setattr(handler, "maxBytes", 200)
    for number in range(20):
        log.info("one line of many", number=number)

    files = list(path.parent.iterdir())
    assert len(files) == LOG_FILES_KEPT + 1
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert daemon_log.LOG_BYTES_MAX * len(files) < 10_000_000
