"""
Installing into Copilot CLI and removing again: our plugin folder, and two entries in the user's settings.

The settings may hold comments, which stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from tokeneconomizer.console.installations.copilot_checks import Registration
from tokeneconomizer.console.installations.copilot_files import copies_in, folders_of_copies, is_copy_of_ours
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.json_members import object_with_comments
from tokeneconomizer.console.installations.own_files import (
    remove_empty_folders,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.console.installations.shape import Installation
from tokeneconomizer.console.installations.user_file import UserFile, removing, setting
from tokeneconomizer.hosts.copilot import installation, plugin
from tokeneconomizer.hosts.marketplace import settings_members
from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.writers.edits import JSON, RemoveElement
from tokeneconomizer.writers.json_with_comments import JSON_WITH_COMMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.console.checks import Finding
    from tokeneconomizer.console.installations.user_file import Members
    from tokeneconomizer.writers.edits import Document, Edit


class Copilot(Installation):
    """Copilot CLI's installation."""

    NAME: ClassVar = COPILOT
    TITLE: ClassVar = "Copilot CLI"
    NEXT: ClassVar = "Copilot CLI loads the hooks at its next start; `te status` shows what they tell."
    BINARY: ClassVar = installation.BINARY
    MEASURED: ClassVar = installation.MEASURED

    @property
    def folder(self) -> Path:
        """The agent's own folder."""
        named = self._environment.get(installation.FOLDER_VARIABLE, "")
        return Path(named) if named else self._agents_home / installation.CONFIG_FOLDER

    def version(self) -> str:
        """Return its version: it runs a newer copy that it fetched, whatever its package is."""
        return self._printed_version()

    def install(self, *, dry_run: bool) -> Report:
        """Render the plugin folder, register it, and remove a copy that was installed directly."""
        report = Report()
        files = plugin.plugin_files(hook_words(), te_words())
        write_own_files(self._own_folder, files, report, dry_run=dry_run)
        self._settings().register(setting(self._members()), report, dry_run=dry_run)
        self._remove_copies(report, dry_run=dry_run)
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """Take back what was written, and what the agent made for our plugin."""
        report = Report()
        names = removing([path for path, _ in self._members()])
        self._settings().take_back(names, report, dry_run=dry_run)
        self._remove_copies(report, dry_run=dry_run)
        folders = [self.folder / name for name in plugin.EMPTY_FOLDERS]
        remove_empty_folders(folders, report, dry_run=dry_run)
        remove_own_folder(self._own_folder, report, dry_run=dry_run)
        return report

    def findings(self) -> Iterator[Finding]:
        """Return whether Copilot loads our plugin once and runs its hooks."""
        return Registration(self.folder, self._own_folder, Path.cwd()).look()

    def _members(self) -> Members:
        return cast("Members", settings_members(str(self._own_folder)))

    def _settings(self) -> UserFile:
        return self._user_file(installation.SETTINGS_FILE, JSON_WITH_COMMENTS)

    def _remove_copies(self, report: Report, *, dry_run: bool) -> None:
        """Remove copies of our plugin that were installed directly: their hooks would run once more."""
        config = self._user_file(installation.CONFIG_NAME, JSON_WITH_COMMENTS)
        folders = folders_of_copies(object_with_comments(config.path) or {}, self.folder)
        config.change(_edits_removing_copies, report, dry_run=dry_run)
        for folder in folders:
            remove_own_folder(folder, report, dry_run=dry_run)


def _edits_removing_copies(document: Document) -> list[Edit]:
    entries = cast("list[JSON]", copies_in(document))
    return [RemoveElement(plugin.DIRECT_INSTALLS, entry) for entry in entries if is_copy_of_ours(entry)]
