import errno
import os
import re
import stat
import subprocess

import click
import pytest
from click.testing import CliRunner
from console_runs import COMMAND, Run, te, te_process
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.console import failures
from tokeneconomizer.console.main import COMMANDS
from tokeneconomizer.domain.errors import BadSetting
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.writers.errors import Reason, WriteRefused


def guarded(error: BaseException, arguments: tuple[str, ...] = ()) -> Run:
    def work() -> None:
        raise error

    with CliRunner().isolation() as (out, err, _):
        status = failures.guarded(work, arguments)
        return Run(status, out.getvalue().decode(), err.getvalue().decode())


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (BadSetting("a is wrong: set b"), 1, "te: a is wrong: set b\n"),
        (
            WriteRefused(Reason.TRACKED, "x is tracked by git"),
            1,
            "te: x is tracked by git; take the file out of git's index, or allow writing to tracked files\n",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/a/b"),
            1,
            "te: /a/b: Permission denied: make it readable and writable for you, then try again\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", b"/a/b"),
            1,
            "te: /a/b: No space left on device: free some space on the disk, then try again\n",
        ),
        (click.UsageError("no such thing"), 2, "Error: no such thing\n"),
        (click.exceptions.Exit(1), 1, ""),
        (KeyboardInterrupt(), 130, "\n"),
        (click.Abort(), 130, ""),
    ],
)
def test_each_error_has_its_status_and_one_sentence(error: BaseException, status: int, words: str) -> None:
    assert guarded(error) == Run(status, "", words)


def test_a_command_that_works_is_done() -> None:
    assert te_process("--version").status == 0


def test_wrong_usage_is_said_on_stderr() -> None:
    shown = te("nope")
    assert (shown.status, shown.out) == (2, "")
    assert "No such command 'nope'" in shown.err


def test_a_fault_of_ours_leaves_a_report_for_its_user_alone(home: Home) -> None:
    shown = guarded(
        RuntimeError("the wheel came off"), ("config", "set", "--repo=/secret/place", "--host", "x")
    )
    assert (shown.status, shown.out) == (3, "")
    found = re.fullmatch(
        r"te: this is a fault of the program \(RuntimeError\): "
        r"please report it with the file (\S+), after a look at what it holds\n",
        shown.err,
    )
    assert found is not None
    (report,) = home.log.parent.glob("te-fault-*.log")
    assert str(report) == found[1]
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    text = report.read_text()
    assert "Traceback (most recent call last)" in text
    assert "RuntimeError: the wheel came off" in text
    assert "command te config VALUE --repo --host VALUE\n" in text
    assert "tokeneconomizer 0." in text


def test_only_the_newest_reports_are_kept(home: Home) -> None:
    for number in range(failures.REPORTS_KEPT + 1):
        guarded(RuntimeError(f"fault {number}"))
    reports = sorted(home.log.parent.glob("te-fault-*.log"))
    assert len(reports) == failures.REPORTS_KEPT
    assert "fault 0" not in reports[0].read_text()


def test_a_report_that_cannot_be_written_is_shown(home: Home) -> None:
    home.root.parent.mkdir(exist_ok=True)
    home.root.write_text("a file stands where the home belongs")
    shown = guarded(RuntimeError("the wheel came off"))
    assert shown.status == 3
    assert "RuntimeError: the wheel came off" in shown.err
    assert "could not be written" in shown.err


@given(st.lists(st.text()))
def test_a_report_names_no_value_of_the_command_line(arguments: list[str]) -> None:
    named = failures.names_of(arguments)
    assert len(named) == len(arguments)
    for name, argument in zip(named, arguments, strict=True):
        is_option = argument.startswith("-") and "=" not in name and argument.startswith(name)
        assert name == "VALUE" or name in COMMANDS or is_option


@pytest.mark.usefixtures("home")
def test_a_reader_that_left_ends_the_command_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "config", "list"], stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
