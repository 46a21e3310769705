"""
Installing into an agent and removing again: our own plugin folder, and two entries in the user's settings.

What was written is recorded before the file is touched, so that exactly that can be taken back.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tokeneconomizer.hosts import hook as hook_client
from tokeneconomizer.hosts.claude_code import installation, plugin
from tokeneconomizer.writers.applied import Applied
from tokeneconomizer.writers.edits import JSON, RemoveEmpty, RemoveMember, SetMember
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.strict_json import STRICT_JSON
from tokeneconomizer.writers.whole_file import make_own_folder, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.edits import Edit

VERSION_S_MAX = 20
"""The agent prints its version in a second; on a cold disk it has 400 MB to load."""

OTHER_AGENTS = {
    "codex": ("codex", ".codex"),
    "copilot": ("copilot", ".copilot"),
    "pi": ("pi", ".pi"),
    "opencode": ("opencode", ".config/opencode"),
}
"""Agents that this version does not install into: their program and folder, to say so in words."""


@dataclass(slots=True)
class Report:
    """What was done, or would be: the files that changed, and what the user should know."""

    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def hook_words() -> list[str]:
    """Return interpreter, flags and launcher of the hook client, absolute."""
    launcher = Path(hook_client.__file__).with_name("launcher.py")
    # Not resolved: in a virtual environment the link is what makes the interpreter find its packages.
    return [sys.executable, "-I", "-S", str(launcher)]


def te_words() -> list[str]:
    """Return the command that runs `te` with this interpreter, wherever it is called from."""
    return [sys.executable, "-I", "-m", "tokeneconomizer.console.main"]


class ClaudeCode:
    """
    Claude Code's installation.

    Args:
        home: our home, which holds the plugin folder.
        agents_home: the user's home.
        environment: where CLAUDE_CONFIG_DIR may stand.
        allow_tracked: whether a settings file that git tracks may be changed.

    """

    def __init__(
        self, home: Home, agents_home: Path, environment: Mapping[str, str], *, allow_tracked: bool = False
    ) -> None:
        self._home = home
        named = environment.get(installation.CONFIG_VARIABLE, "")
        self._folder = Path(named) if named else agents_home / installation.CONFIG_FOLDER
        self._root = Path(named) if named else agents_home
        self._plugin_folder = home.plugins / "claude_code"
        self._record = InstalledRecord(home.installed)
        self._allow_tracked = allow_tracked

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self._folder / installation.SETTINGS_FILE

    def is_present(self) -> bool:
        """Return whether the agent was ever used or installed here."""
        return self._folder.is_dir() or shutil.which(installation.BINARY) is not None

    def version(self) -> str:
        """Return what the agent says its version is; empty when it cannot be asked."""
        binary = shutil.which(installation.BINARY)
        if binary is None:
            return ""
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(
                [binary, "--version"], capture_output=True, text=True, timeout=VERSION_S_MAX, check=True
            )
            return done.stdout.strip()[:100]
        return ""

    def install(self, *, dry_run: bool) -> Report:
        """
        Render the plugin folder and register it.

        Raises:
            WriteRefused: the settings file was left as it is.

        """
        report = Report()
        self._render_plugin(report, dry_run=dry_run)
        members = plugin.settings_members(str(self._plugin_folder))
        edits: list[Edit] = [SetMember(path, cast("JSON", value)) for path, value in members]
        if dry_run:
            if not self._is_registered(members):
                report.changed.append(str(self.settings))
            return report
        before = self._record.get(self.settings)
        place = Place(self._root, self.settings)
        outcome = write_edits(place, edits, STRICT_JSON, self._surroundings(partial(self._keep, before)))
        if outcome.written:
            report.changed.append(str(self.settings))
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """
        Take back what was written, and our name where the agent wrote it by itself.

        Raises:
            WriteRefused: a file was left as it is; what was done before it stays done.

        """
        report = Report()
        self._unregister(report, dry_run=dry_run)
        for place, path in self._mentions():
            self._remove_mention(place, path, report, dry_run=dry_run)
        for name in plugin.EMPTY_FOLDERS:
            self._remove_folder(self._folder / name, report, dry_run=dry_run)
        if self._plugin_folder.exists():
            report.changed.append(str(self._plugin_folder))
            if not dry_run:
                shutil.rmtree(self._plugin_folder)
        return report

    def _render_plugin(self, report: Report, *, dry_run: bool) -> None:
        for name, text in plugin.plugin_files(hook_words(), te_words()).items():
            path = self._plugin_folder / name
            data = text.encode()
            with suppress(OSError):
                if path.read_bytes() == data:
                    continue
            report.changed.append(str(path))
            if not dry_run:
                make_own_folder(path.parent)
                write_whole(path, data)

    def _unregister(self, report: Report, *, dry_run: bool) -> None:
        applied = self._record.get(self.settings)
        members = plugin.settings_members(str(self._plugin_folder))
        if applied is None and not self._is_registered(members):
            return
        report.changed.append(str(self.settings))
        if dry_run:
            return
        place = Place(self._root, self.settings)
        if applied is None:
            # The record is lost with the home: take our entries away by their names.
            edits: list[Edit] = [RemoveMember(path) for path, _ in members]
            edits += [RemoveEmpty(path[:1]) for path, _ in members]
            write_edits(place, edits, STRICT_JSON, self._surroundings())
        else:
            outcome = restore(place, applied, STRICT_JSON, self._surroundings())
            if not outcome.written:
                report.changed.remove(str(self.settings))
        self._record.drop(self.settings)

    def _mentions(self) -> list[tuple[Place, tuple[str, ...]]]:
        found = []
        for name, path in plugin.MENTIONS:
            # `.claude.json` lies beside `.claude`, or within the folder that CLAUDE_CONFIG_DIR names.
            folder = self._folder if name != ".claude.json" else self._root
            found.append((Place(self._root, folder / name), path))
            if name == ".claude.json":
                backups = sorted((self._folder / "backups").glob(".claude.json.backup.*"))
                found += [(Place(self._root, backup), path) for backup in backups]
        return found

    def _remove_mention(self, place: Place, path: tuple[str, ...], report: Report, *, dry_run: bool) -> None:
        if not _has_member(place.file, path):
            return
        report.changed.append(str(place.file))
        if dry_run:
            return
        try:
            write_edits(place, [RemoveMember(path)], STRICT_JSON, self._surroundings())
        except WriteRefused as refusal:
            # The agent's own file names us still; it does nothing, and is no reason to stop here.
            report.changed.remove(str(place.file))
            report.notes.append(f"{place.file} still names this plugin: {refusal}")

    def _remove_folder(self, folder: Path, report: Report, *, dry_run: bool) -> None:
        if not folder.is_dir():
            return
        with suppress(OSError):
            if not dry_run:
                folder.rmdir()
            report.changed.append(str(folder))

    def _is_registered(self, members: tuple[tuple[tuple[str, ...], object], ...]) -> bool:
        return all(_has_member(self.settings, path) for path, _ in members)

    def _keep(self, before: Applied | None, applied: Applied) -> None:
        self._record.put(self.settings, applied if before is None else before.then(applied))

    def _surroundings(self, record: Callable[[Applied], None] = keep_no_record) -> Surroundings:
        return Surroundings(allow_tracked=self._allow_tracked, record=record)


class InstalledRecord:
    """
    What was written into agents' files, by file.

    Args:
        path: `installed.json` of our home.

    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, file: Path) -> Applied | None:
        """Return the record of a file, or None."""
        stored = self._read().get(str(file))
        return None if stored is None else Applied.from_json(stored)

    def put(self, file: Path, applied: Applied) -> None:
        """Keep the record of a file."""
        self._write({**self._read(), str(file): applied.to_json()})

    def drop(self, file: Path) -> None:
        """Forget a file."""
        kept = {name: record for name, record in self._read().items() if name != str(file)}
        self._write(kept)

    def _read(self) -> dict[str, str]:
        try:
            stored = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        return {str(name): str(record) for name, record in stored.items()}

    def _write(self, records: dict[str, str]) -> None:
        write_whole(self._path, json.dumps(records, indent=2, sort_keys=True).encode())


def other_agents_present(agents_home: Path) -> list[str]:
    """Return the names of agents that are here and that this version does not install into."""
    return [
        name
        for name, (binary, folder) in OTHER_AGENTS.items()
        if shutil.which(binary) or (agents_home / folder).is_dir()
    ]


def _has_member(file: Path, path: tuple[str, ...]) -> bool:
    try:
        value = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def agents_home_from(option: Path | None) -> Path:
    """Return where agents' own files are looked for."""
    return option or Path(os.environ.get("HOME") or Path.home())
