"""
Installing into Claude Code and removing again: our own plugin folder, and two entries in the user's settings.

What was written is recorded before the file is touched, so that exactly that can be taken back.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from tokeneconomizer.console.checks import problem
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.json_members import has_member, json_object
from tokeneconomizer.console.installations.own_files import (
    look_at_own_files,
    remove_empty_folder,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.record import InstalledRecord
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.hosts.claude_code import installation, plugin
from tokeneconomizer.hosts.recognise import CLAUDE_CODE
from tokeneconomizer.scheduler.agent_versions import printed_version
from tokeneconomizer.writers.edits import JSON, RemoveEmpty, RemoveMember, SetMember
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.strict_json import STRICT_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokeneconomizer.console.checks import Finding, Patient
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.applied import Applied
    from tokeneconomizer.writers.edits import Edit


class ClaudeCode:
    """Claude Code's installation; see `shape.Installation`."""

    NAME: ClassVar[str] = CLAUDE_CODE
    TITLE: ClassVar[str] = "Claude Code"
    NEXT: ClassVar[str] = "Claude Code loads the hooks at its next start; `te status` shows what they tell."

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
        return printed_version(installation.BINARY)

    def install(self, *, dry_run: bool) -> Report:
        """
        Render the plugin folder and register it.

        Raises:
            WriteRefused: the settings file was left as it is.

        """
        report = Report()
        files = plugin.plugin_files(hook_words(), te_words())
        write_own_files(self._plugin_folder, files, report, dry_run=dry_run)
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
            remove_empty_folder(self._folder / name, report, dry_run=dry_run)
        remove_own_folder(self._plugin_folder, report, dry_run=dry_run)
        return report

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version of the agent."""
        if not installation.is_older_than_measured(version):
            return []
        oldest = ".".join(str(part) for part in installation.OLDEST_MEASURED)
        words = "without its PostToolBatch hook nothing is redirected. Update it."
        return [f"Claude Code {version} is older than {oldest}: {words}"]

    def look_at(self, patient: Patient) -> Iterator[Finding]:
        """Return whether Claude Code, where it is here, loads our plugin."""
        if not self._folder.is_dir() and not shutil.which(
            installation.BINARY, path=patient.environment.get("PATH")
        ):
            return
        settings = json_object(self.settings)
        if settings is None:
            yield problem(f"{self.settings} cannot be read as JSON", "mend it: the agent ignores it, too")
            return
        enabled = settings.get("enabledPlugins")
        value = enabled.get(f"{plugin.PLUGIN}@{plugin.MARKETPLACE}") if isinstance(enabled, dict) else None
        if settings.get("disableAllHooks") is True:
            yield problem(
                "Claude Code: `disableAllHooks` is set, so that it calls no hook",
                "remove it from its settings",
            )
        elif value is True:
            files = plugin.plugin_files(hook_words(), te_words())
            yield from look_at_own_files(self._plugin_folder, files, self.TITLE, self.NAME)
        elif value is False:
            yield problem(
                "Claude Code: our plugin is switched off",
                "enable it with `/plugin`, or `te setup claude_code`",
            )
        else:
            yield problem("Claude Code: our hooks are not registered", "run `te setup claude_code`")

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
        if not has_member(place.file, path):
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

    def _is_registered(self, members: tuple[tuple[tuple[str, ...], object], ...]) -> bool:
        return all(has_member(self.settings, path) for path, _ in members)

    def _keep(self, before: Applied | None, applied: Applied) -> None:
        self._record.put(self.settings, applied if before is None else before.then(applied))

    def _surroundings(self, record: Callable[[Applied], None] = keep_no_record) -> Surroundings:
        return Surroundings(allow_tracked=self._allow_tracked, record=record)
