"""
The one place where an exception becomes a message and an exit status.

    0    done, also when the reader of our output left early
    1    something is wrong that we can name: one sentence with what to do next
    2    the command line is wrong
    3    a fault of ours: a report file with versions and traceback is named
    130  Ctrl-C
"""

from __future__ import annotations

import errno
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.domain.errors import TokeneconomizerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.scheduler.home import Home

DONE = 0
KNOWN_ERROR = 1
FAULT = 3
INTERRUPTED = 130

REPORTS_KEPT = 20
"""Enough to see whether a fault comes back; the oldest goes."""

REPORT_PREFIX = "te-fault-"

FILE_ERRORS = {
    errno.EACCES: "make it readable and writable for you, then try again",
    errno.EPERM: "make it yours, then try again",
    errno.EROFS: "choose a place that can be written with TOKENECONOMIZER_HOME",
    errno.ENOSPC: "free some space on the disk, then try again",
    errno.EDQUOT: "free some space under your quota, then try again",
    errno.ENOTDIR: "move away the file that stands where a folder belongs",
}
"""What the system may refuse without a fault of ours, and what helps."""


def guarded(work: Callable[[], None], arguments: Sequence[str]) -> int:
    """
    Do the work and return the exit status.

    Args:
        work: what the command does.
        arguments: the command line, for a fault's report; its values are left out.

    """
    try:
        work()
        sys.stdout.flush()
    except BrokenPipeError:
        output.discard_stdout()
        return DONE
    except KeyboardInterrupt:
        output.say("")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost place: what nobody knows is a fault of ours
        return _told(error, arguments)
    return DONE


def _told(error: Exception, arguments: Sequence[str]) -> int:
    """Say what is wrong, and return the exit status."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.Abort():
            return INTERRUPTED
        case click.ClickException():
            error.show()
            return error.exit_code
        case TokeneconomizerError():
            output.say(f"te: {error}")
            return KNOWN_ERROR
        case OSError() if error.filename is not None and error.errno in FILE_ERRORS:
            name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
            output.say(f"te: {name}: {error.strerror}: {FILE_ERRORS[error.errno]}")
            return KNOWN_ERROR
    output.say(_fault(error, arguments))
    return FAULT


def _fault(error: Exception, arguments: Sequence[str]) -> str:
    """Write a report, and return the sentence that names it."""
    # Imported here: a command that works needs none of them.
    import platform  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    from tokeneconomizer.scheduler.home import Home  # noqa: PLC0415

    lines = [
        f"tokeneconomizer {output.program_version()}",
        f"python {platform.python_version()} ({sys.executable})",
        f"system {platform.platform()}",
        f"command te {' '.join(names_of(arguments))}",
        "",
        *traceback.format_exception(error),
    ]
    report = "\n".join(lines)
    try:
        path = _write_report(Home.from_environment(), report)
    except OSError:
        return f"{report}\nte: this is a fault of the program, and its report could not be written: see above"
    return (
        f"te: this is a fault of the program ({type(error).__name__}): "
        f"please report it with the file {path}, after a look at what it holds"
    )


def names_of(arguments: Sequence[str]) -> list[str]:
    """Return the command line without its values: commands and names of options stay."""
    # The table is the entry point's; it imports this module.
    from tokeneconomizer.console.main import COMMANDS  # noqa: PLC0415

    names = []
    for number, argument in enumerate(arguments):
        if argument.startswith("-"):
            names.append(argument.partition("=")[0])
        elif number == 0 and argument in COMMANDS:
            names.append(argument)
        else:
            names.append("VALUE")
    return names


def _write_report(home: Home, report: str) -> str:
    folder = home.log.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{REPORT_PREFIX}{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(report)
    for old in sorted(folder.glob(f"{REPORT_PREFIX}*.log"))[:-REPORTS_KEPT]:
        old.unlink(missing_ok=True)
    return str(path)
