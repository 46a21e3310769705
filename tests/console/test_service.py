"""The daemon as a service: what is written for systemd and launchd, and how they are asked."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tokeneconomizer.console import service
from tokeneconomizer.scheduler.home import Home

ELSEWHERE = Home(Path("/srv/state of 50%"))


def linux(user_home: Path, home: Home | None = None) -> service.Service:
    return service.service_for("linux", user_home, {}, home or Home.from_environment({}))


def fake_manager(folder: Path, name: str, status: int = 0) -> Path:
    """A service manager that writes down how it was called."""
    calls = folder / "calls"
    program = folder / name
    program.write_text(f'#!/bin/sh\necho "$*" >> "{calls}"\necho refused >&2\nexit {status}\n')
    program.chmod(0o755)
    return calls


def test_a_systemd_unit_starts_the_daemon_that_stays(tmp_path: Path) -> None:
    unit = linux(tmp_path)

    assert unit.file == tmp_path / ".config/systemd/user/tokeneconomizer.service"
    assert f'ExecStart="{sys.executable}" "-I" "-m" "tokeneconomizer.scheduler.daemon" "--stay"' in unit.text
    assert "Environment" not in unit.text


def test_a_home_elsewhere_is_named_as_systemd_reads_it(tmp_path: Path) -> None:
    assert 'Environment="TOKENECONOMIZER_HOME=/srv/state of 50%%"' in linux(tmp_path, ELSEWHERE).text


ANALYZE = shutil.which("systemd-analyze")


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze was not found")
def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "tokeneconomizer.service"
    unit.write_text(linux(tmp_path, ELSEWHERE).text)
    done = subprocess.run([str(ANALYZE), "verify", unit], capture_output=True, text=True, check=False)

    assert "tokeneconomizer" not in done.stderr


def test_a_launchd_agent_holds_the_same(tmp_path: Path) -> None:
    agent = service.service_for("darwin", tmp_path, {}, ELSEWHERE)
    description = plistlib.loads(agent.text.encode())

    assert agent.file == tmp_path / "Library/LaunchAgents/local.tokeneconomizer.daemon.plist"
    assert description["ProgramArguments"] == service.daemon_words()
    assert description["EnvironmentVariables"] == {"TOKENECONOMIZER_HOME": "/srv/state of 50%"}
    assert description["KeepAlive"] is True


def test_the_manager_is_asked_in_order_and_the_file_goes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_manager(tmp_path, "systemctl")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    unit = linux(tmp_path)
    installed = service.install(unit, dry_run=False)
    again = service.install(unit, dry_run=False)
    removed = service.uninstall(unit, dry_run=False)

    assert installed.changed == removed.changed == [str(unit.file)]
    assert (again.changed, installed.notes) == ([], [])
    assert calls.read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now tokeneconomizer.service",
        "--user disable --now tokeneconomizer.service",
    ]
    assert not unit.file.exists()


def test_a_refusal_and_an_absent_manager_are_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    absent = service.install(linux(tmp_path / "a"), dry_run=False)
    fake_manager(tmp_path, "systemctl", status=1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    refused = service.install(linux(tmp_path / "b"), dry_run=False)

    assert "systemctl was not found; run by hand: systemctl --user daemon-reload" in absent.notes
    assert "systemctl --user daemon-reload was refused (refused): run it in your own session" in refused.notes


def test_a_dry_run_writes_nothing_and_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = fake_manager(tmp_path, "systemctl")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    unit = linux(tmp_path)

    assert service.install(unit, dry_run=True).changed == [str(unit.file)]
    assert not unit.file.exists()
    assert not calls.exists()
