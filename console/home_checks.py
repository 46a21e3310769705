"""Checks of our own state: folders and their modes, the store, the daemon, the spool, the views, the logs."""

from __future__ import annotations

import json
import os
import stat
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.console import daemon_process, output
from tokeneconomizer.console.checks import Check, Finding, Patient, ok, problem, warning
from tokeneconomizer.console.overview import calls_waiting, files_in
from tokeneconomizer.console.state import configuration_or_problem, view_of
from tokeneconomizer.domain.errors import StoreDamaged
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import Unreadable
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.home import KEY_BYTES
from tokeneconomizer.scheduler.store_guard import how_to_move_aside, trouble_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.scheduler.home import Home

FOLDER_MODE = 0o700
FILE_MODE = 0o600

ENTRIES_LOOKED_AT = 20_000
"""A full spool has 10,000 files; the rest of a home has some hundreds."""

EXAMPLES_SHOWN = 3
"""The first ones tell what is wrong with all."""

LOG_DAYS = 1
"""What went wrong earlier has long been mended, or shows again."""

LOG_BYTES_READ = 256 * 1024
"""The newest thousands of lines."""

SPOOL_WAITING_USUAL = 50
"""A daemon that is up stores what waits at once; a few calls wait while it starts."""


def look_at_folders(patient: Patient) -> Iterator[Finding]:
    """Whether the home is there, ours, and for nobody else to read."""
    home = patient.home
    if not home.root.exists():
        yield warning(f"{home.root} does not exist yet", "run `te setup`")
        return
    if home.root.stat().st_uid != os.geteuid():
        yield problem(
            f"{home.root} belongs to another user", "choose a home of your own: TOKENECONOMIZER_HOME"
        )
        return
    missing = [
        folder for folder in (home.views, home.spool, home.log.parent, home.plugins) if not folder.is_dir()
    ]
    if missing:
        yield warning(f"missing: {_some(missing)}", "`te daemon start` makes them")
    open_to_others = [path for path in islice(_entries(home.root), ENTRIES_LOOKED_AT) if _is_open(path)]
    if open_to_others:
        advice = f"run `chmod -R go= {home.root}`"
        yield problem(f"others may read or enter {_some(open_to_others)}", advice)
    elif not missing:
        yield ok(f"{home.root}, readable by you alone")


def look_at_store(patient: Patient) -> Iterator[Finding]:
    """Whether the events can be read, to the last one."""
    home = patient.home
    if not home.events.exists():
        yield warning("no event is stored yet", "run `te setup`, then work with your agent")
        return
    key = home.root / "key"
    if not key.is_file() or key.stat().st_size != KEY_BYTES:
        yield problem(
            f"{key} is not the secret that the store was made with",
            "put it back from a backup: without it, new events do not link to the old ones",
        )
    trouble = trouble_with(home)
    if trouble:
        yield problem(trouble, f"a backup, or {how_to_move_aside(home)}")
        return
    try:
        yield _state_of_events(home)
    except StoreDamaged as error:
        yield problem(
            str(error), f"`te audit export` prints what is readable; then {how_to_move_aside(home)}"
        )


def _state_of_events(home: Home) -> Finding:
    with EventLog(home.events) as log:
        last = log.last_position()
        faults = log.faults_of_file()
        newest = log.page(max(0, last - 1))
        if newest and isinstance(newest[-1], Unreadable):
            faults.insert(0, newest[-1].error)
    if not faults:
        return ok(f"readable, newest event {last}")
    advice = f"`te audit verify` says where; a backup, or {how_to_move_aside(home)}"
    return problem(f"the event store is damaged: {faults[0]}", advice)


def look_at_daemon(patient: Patient) -> Iterator[Finding]:
    """Whether the daemon runs, answers, and is of this program's version."""
    home = patient.home
    state = daemon_process.state_of(home)
    program = output.program_version()
    if not state.running:
        leftover = " (a socket was left behind)" if home.socket.exists() else ""
        yield warning(f"not running{leftover}", "the next hook starts it, or `te daemon start`")
    elif not state.answers:
        yield problem(
            "a process holds the lock and does not answer",
            f"wait a moment and try again; if it stays so, see the end of {home.log} and end that process",
        )
    elif state.version != program:
        yield problem(
            f"it has version {state.version}, this program {program}",
            "run `te daemon stop`, then `te daemon start`",
        )
    else:
        yield ok(f"running since {output.local_time(state.started_at)}, version {state.version}")


def look_at_spool(patient: Patient) -> Iterator[Finding]:
    """Whether hook calls wait to be stored, or were refused."""
    home = patient.home
    waiting, refused = calls_waiting(home), files_in(home.refused)
    if waiting is None or refused is None:
        yield problem(f"{home.spool} cannot be read", "make it yours and readable")
        return
    if waiting > SPOOL_WAITING_USUAL:
        yield problem(
            f"{waiting:,} calls wait to be stored", f"`te daemon start`; if they stay, see {home.log}"
        )
    elif waiting:
        yield warning(f"{waiting} calls wait to be stored", "`te daemon start` stores them")
    if refused:
        yield warning(
            f"{refused} calls could not be stored and lie in {home.refused}",
            f"{home.log} says why; the next version of this program tries them again",
        )
    if not waiting and not refused:
        yield ok("nothing waits")


def look_at_hook_log(patient: Patient) -> Iterator[Finding]:
    """Whether hooks found no daemon, or failed, in the last day."""
    path = patient.home.log.with_name("hook.log")
    since = (patient.now - timedelta(days=LOG_DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ")
    recent = [line for line in _last_lines(path) if line >= since and line[:1].isdigit()]
    if recent:
        yield warning(
            f"hooks had to do without the daemon {len(recent):,} times in a day; the last: {recent[-1]}",
            "nothing is lost while the spool has room; `te daemon start`, then look again",
        )
    else:
        yield ok("no hook had to do without the daemon in the last day")


def look_at_daemon_log(patient: Patient) -> Iterator[Finding]:
    """Whether the daemon met errors in the last day."""
    since = patient.now - timedelta(days=LOG_DAYS)
    errors = [line for line in map(_parsed, _last_lines(patient.home.log)) if _is_error_since(line, since)]
    if errors:
        newest = f"{errors[-1].get('event')} ({errors[-1].get('timestamp')})"
        yield problem(
            f"{len(errors):,} errors in the last day; the last: {newest}", f"see {patient.home.log}"
        )
    else:
        yield ok("no error in the last day")


def look_at_views(patient: Patient) -> Iterator[Finding]:
    """Whether the views are up to date, and took every event."""
    if not patient.home.events.exists():
        return
    for projection in PROJECTIONS:
        with view_of(patient.home, projection) as (view, trouble):
            aside = view.set_aside()
            if trouble:
                yield problem(f"{projection.NAME}: {trouble}", f"remove {view.path}: it is made anew")
            if aside:
                first = f"event {aside[0].position} ({aside[0].topic}): {aside[0].error}"
                yield problem(
                    f"{projection.NAME} could not take {len(aside)} events, first {first}",
                    "please report this with `te audit show` of that event",
                )
            if not trouble and not aside:
                yield ok(f"{projection.NAME} is up to date")


def look_at_configuration(patient: Patient) -> Iterator[Finding]:
    """Whether the configuration can be read."""
    _, trouble = configuration_or_problem()
    if trouble:
        yield problem(f"refused, the last good one holds: {trouble}", f"mend {patient.home.config}")
    else:
        yield ok("accepted" if patient.home.config.exists() else "nothing set, the defaults hold")


HOME_CHECKS = (
    Check("home", ("views", "plugins", "spool", "log"), look_at_folders),
    Check("store", ("events",), look_at_store),
    Check("daemon", ("lock", "socket"), look_at_daemon),
    Check("spool", ("spool", "kept", "refused"), look_at_spool),
    Check("hook log", (), look_at_hook_log),
    Check("daemon log", ("log",), look_at_daemon_log),
    Check("views", ("views",), look_at_views),
    Check("configuration", ("config",), look_at_configuration),
)


def _entries(folder: Path) -> Iterator[Path]:
    """Return a folder and all in it, links not followed."""
    yield folder
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(path, name)


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    if stat.S_ISLNK(mode):
        return False
    allowed = FOLDER_MODE if stat.S_ISDIR(mode) else FILE_MODE
    # What a plugin folder holds may be executable for its owner.
    return bool(stat.S_IMODE(mode) & ~(allowed | stat.S_IXUSR))


def _some(paths: list[Path]) -> str:
    shown = ", ".join(map(str, paths[:EXAMPLES_SHOWN]))
    more = len(paths) - EXAMPLES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _last_lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LOG_BYTES_READ))
            return file.read(LOG_BYTES_READ).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []


def _parsed(line: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_error_since(line: dict[str, object], since: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(str(line.get("timestamp")))
    except ValueError:
        return False
    return line.get("level") in {"error", "critical"} and moment.tzinfo is not None and moment >= since
