"""
What keeps a damaged event store from being written to, and from being taken for an empty one.

A daemon that meets damage leaves a mark beside the store and ends; hooks spool meanwhile. The mark goes with
the store when the user moves it aside, and is lifted when another file, which is whole, stands in its place.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import StoreDamaged, TokeneconomizerError
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import current
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.projections.view import View

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

MARK_SUFFIX = ".damaged"

DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""What SQLite says when the bytes are wrong, rather than not to be had now."""

PRIMARY_CODE = 0xFF


def is_damage(error: BaseException) -> bool:
    """Return whether SQLite, or who asked it, complains that the store's bytes are wrong."""
    while True:
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, StoreDamaged) or (code is not None and code & PRIMARY_CODE in DAMAGE_CODES):
            return True
        if error.__cause__ is None:
            return False
        error = error.__cause__


def mark_damaged(events: Path, words: str) -> None:
    """Leave the mark; on a full disk there is none, and the next daemon finds the damage by itself."""
    mark = _mark_of(events)
    draft = mark.with_name(f"{mark.name}.{os.getpid()}.draft")
    with suppress(OSError):
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"words": words, "file": _identity_of(events)}, file)
        draft.replace(mark)


def refuse_damaged(home: Home) -> None:
    """
    Look at the store before it is opened for writing.

    Raises:
        StoreDamaged: it was found damaged before and is the same file, or is still damaged; or it is empty
            although events were read from it.

    """
    words = _marked(home.events)
    if words and not _is_as_marked(home.events):
        words = _found_by_sqlite(home.events)
        if words:
            mark_damaged(home.events, words)
        else:
            _mark_of(home.events).unlink(missing_ok=True)
    words = words or _emptied(home)
    if words:
        raise StoreDamaged(_with_advice(home, words))


def trouble_with(home: Home) -> str:
    """Return what is known to be wrong with the store, with what to do, or an empty text; changes nothing."""
    words = _marked(home.events) or _emptied(home)
    return _with_advice(home, words) if words else ""


def how_to_move_aside(home: Home) -> str:
    """Return the commands that put the store out of the way, so that a new one begins."""
    try:
        moment = datetime.fromtimestamp(home.events.stat().st_mtime, UTC)
    except OSError:
        moment = datetime.now(UTC)
    aside = shlex.quote(str(home.root / f"damaged-{moment:%Y%m%dT%H%M%S}"))
    return (
        f"`te daemon stop; mkdir -p -m 700 {aside} && mv {shlex.quote(str(home.events))}* {aside}/`, "
        "and the next hook begins a new one"
    )


def _with_advice(home: Home, words: str) -> str:
    return (
        f"the event store {home.events} is damaged ({words}), so that nothing is written to it and hook "
        f"calls wait in the spool: put a backup in its place, or move it aside: {how_to_move_aside(home)}; "
        "`te audit export` prints what can still be read"
    )


def _mark_of(events: Path) -> Path:
    return events.with_name(events.name + MARK_SUFFIX)


def _marked(events: Path) -> str:
    """Return the mark's words, or an empty text when there is none; one that cannot be read still counts."""
    try:
        return str(json.loads(_mark_of(events).read_text(encoding="utf-8"))["words"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError):
        return "it was found damaged before"


def _is_as_marked(events: Path) -> bool:
    try:
        marked = json.loads(_mark_of(events).read_text(encoding="utf-8"))["file"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(marked == _identity_of(events))


def _identity_of(events: Path) -> list[int] | None:
    try:
        found = events.stat()
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _found_by_sqlite(events: Path) -> str:
    if not events.exists():
        return ""
    try:
        with EventLog(events) as log:
            return next(iter(log.faults_of_file()), "")
    except StoreDamaged as error:
        return str(error.__cause__ or error)
    except TokeneconomizerError:
        # It cannot be had now: whoever opens it says why.
        return ""


def _emptied(home: Home) -> str:
    """Return words when the file is empty and was not always: opening it would seal that."""
    try:
        if home.events.stat().st_size:
            return ""
    except OSError:
        return ""
    wal = home.events.with_name(home.events.name + "-wal")
    with suppress(OSError):
        if wal.stat().st_size:
            return "the file is empty, and its log beside it is not"
    for projection in PROJECTIONS:
        path = current(home.views, projection)
        with suppress(TokeneconomizerError):
            if path is not None and path.exists():
                with View(path, projection) as view:
                    if view.position():
                        return f"the file is empty, and held at least {view.position():,} events"
    return ""
