"""
The daemon as a service of the user's own session: a systemd user unit, or a launchd agent on macOS.

Hooks start the daemon by themselves; a service only has it there before the first one.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.scheduler.home import HOME_VARIABLE, Home
from tokeneconomizer.writers.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "tokeneconomizer"

LABEL = "local.tokeneconomizer.daemon"

RESTART_S = 5
"""A daemon that cannot start, say on a full disk, tries again without keeping the machine busy."""

COMMAND_S_MAX = 20
"""A service manager answers in milliseconds, or never."""

SERVICE_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Service:
    """
    What one service manager needs.

    Attributes:
        file: where its description of the service lies.
        text: the description.
        enable: the commands that take it up, in order.
        disable: the commands that let it go, before the file is removed.

    """

    file: Path
    text: str
    enable: tuple[tuple[str, ...], ...]
    disable: tuple[tuple[str, ...], ...]


def daemon_words() -> list[str]:
    """Return the command that serves and stays."""
    return [sys.executable, "-I", "-m", "tokeneconomizer.scheduler.daemon", "--stay"]


def service_for(platform: str, user_home: Path, environment: Mapping[str, str], home: Home) -> Service:
    """
    Return the service of a platform.

    Args:
        platform: as `sys.platform`.
        user_home: the user's home.
        environment: where XDG_CONFIG_HOME may stand.
        home: our home; named in the description unless it is the usual one.

    """
    usual = Home.from_environment({}).root
    variables = {} if home.root == usual else {HOME_VARIABLE: str(home.root)}
    if platform == "darwin":
        file = user_home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        domain = f"gui/{os.getuid()}"
        return Service(
            file,
            _plist(daemon_words(), variables),
            enable=(("launchctl", "bootstrap", domain, str(file)),),
            disable=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
        )
    config = Path(environment.get("XDG_CONFIG_HOME") or user_home / ".config")
    unit = f"{NAME}.service"
    return Service(
        config / "systemd" / "user" / unit,
        _unit(daemon_words(), variables),
        enable=(
            ("systemctl", "--user", "daemon-reload"),
            ("systemctl", "--user", "enable", "--now", unit),
        ),
        disable=(("systemctl", "--user", "disable", "--now", unit),),
    )


def install(service: Service, *, dry_run: bool) -> Report:
    """Write the description and have the service manager take it up; what it refuses is said in words."""
    report = Report()
    if service.file.exists() and service.file.read_text(encoding="utf-8") == service.text:
        return report
    report.changed.append(str(service.file))
    if not dry_run:
        service.file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(service.file, service.text.encode(), SERVICE_MODE)
        _run_all(service.enable, report)
    return report


def uninstall(service: Service, *, dry_run: bool) -> Report:
    """Have the service manager let go of the service, and remove its description."""
    report = Report()
    if not service.file.exists():
        return report
    report.changed.append(str(service.file))
    if not dry_run:
        _run_all(service.disable, report)
        service.file.unlink()
    return report


def _run_all(commands: Sequence[tuple[str, ...]], report: Report) -> None:
    for command in commands:
        if shutil.which(command[0]) is None:
            report.notes.append(f"{command[0]} was not found; run by hand: {' '.join(command)}")
            continue
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=COMMAND_S_MAX)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip() or f"status {error.returncode}"
            report.notes.append(f"{' '.join(command)} was refused ({reason}): run it in your own session")
        except subprocess.TimeoutExpired:
            report.notes.append(f"{' '.join(command)} did not end: run it by hand")


def _unit(words: Sequence[str], variables: Mapping[str, str]) -> str:
    lines = [
        "[Unit]",
        "Description=Keeps coding agents out of circles",
        "",
        "[Service]",
        f"ExecStart={' '.join(_systemd_quoted(word) for word in words)}",
        *(f"Environment={_systemd_quoted(f'{name}={value}')}" for name, value in variables.items()),
        # Also after a clean end: an upgraded program asks the running daemon to leave.
        "Restart=always",
        f"RestartSec={RESTART_S}",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def _systemd_quoted(word: str) -> str:
    """Return a word as systemd reads it: `%` and `$` stand for themselves, blanks do not part it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _plist(words: Sequence[str], variables: Mapping[str, str]) -> str:
    description = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "EnvironmentVariables": dict(variables),
        "RunAtLoad": True,
        "KeepAlive": True,
        "ThrottleInterval": RESTART_S,
    }
    return plistlib.dumps(description).decode()
