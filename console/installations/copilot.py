"""
Installing into Copilot CLI and removing again: our own plugin folder, and two entries in the user's settings.

What was written is recorded before the file is touched, so that exactly that can be taken back. The settings
may hold comments, which stay.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from tokeneconomizer.console.installations.copilot_checks import Registration
from tokeneconomizer.console.installations.copilot_files import (
    folders_of_copies,
    is_copy_of_ours,
)
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.json_members import object_with_comments
from tokeneconomizer.console.installations.own_files import (
    remove_empty_folder,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.record import InstalledRecord
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.copilot import installation, plugin
from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.scheduler.agent_versions import printed_version
from tokeneconomizer.writers.edits import JSON, RemoveElement, RemoveEmpty, RemoveMember, SetMember
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.json_with_comments import JSON_WITH_COMMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokeneconomizer.console.checks import Finding, Patient
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.applied import Applied
    from tokeneconomizer.writers.edits import Document, Edit


class Copilot:
    """Copilot CLI's installation; see `shape.Installation`."""

    NAME: ClassVar[str] = COPILOT
    TITLE: ClassVar[str] = "Copilot CLI"
    NEXT: ClassVar[str] = "Copilot CLI loads the hooks at its next start; `te status` shows what they tell."

    def __init__(
        self, home: Home, agents_home: Path, environment: Mapping[str, str], *, allow_tracked: bool = False
    ) -> None:
        named = environment.get(installation.FOLDER_VARIABLE, "")
        self._folder = Path(named) if named else agents_home / installation.CONFIG_FOLDER
        self._root = Path(named) if named else agents_home
        self._plugin_folder = home.plugins / COPILOT
        self._record = InstalledRecord(home.installed)
        self._allow_tracked = allow_tracked
        self._members = plugin.settings_members(str(self._plugin_folder))

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self._folder / installation.SETTINGS_FILE

    def is_present(self) -> bool:
        """Return whether the agent was ever used or installed here."""
        return self._folder.is_dir() or shutil.which(installation.BINARY) is not None

    def version(self) -> str:
        """Return what the agent says its version is; empty when it cannot be asked."""
        return printed_version(installation.BINARY).partition("\n")[0]

    def install(self, *, dry_run: bool) -> Report:
        """
        Render the plugin folder, register it, and remove a copy that was installed directly.

        Raises:
            WriteRefused: a file of the user's was left as it is.

        """
        report = Report()
        files = plugin.plugin_files(hook_words(), te_words())
        write_own_files(self._plugin_folder, files, report, dry_run=dry_run)
        edits: list[Edit] = [SetMember(path, cast("JSON", value)) for path, value in self._members]
        if not dry_run:
            before = self._record.get(self.settings)
            outcome = self._write(self.settings, edits, partial(self._keep, before))
            report.changed += [str(self.settings)] if outcome else []
        elif not self._is_registered():
            report.changed.append(str(self.settings))
        self._remove_copies(report, dry_run=dry_run)
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """
        Take back what was written, and what the agent made for our plugin.

        Raises:
            WriteRefused: a file was left as it is; what was done before it stays done.

        """
        report = Report()
        self._unregister(report, dry_run=dry_run)
        self._remove_copies(report, dry_run=dry_run)
        for name in plugin.EMPTY_FOLDERS:
            remove_empty_folder(self._folder / name, report, dry_run=dry_run)
        remove_own_folder(self._plugin_folder, report, dry_run=dry_run)
        return report

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version of the agent."""
        if installation.was_measured(version):
            return []
        measured = ".".join(str(part) for part in installation.MEASURED)
        return [f"our hooks were measured on Copilot CLI {measured}, and not on {version}"]

    def look_at(self, patient: Patient) -> Iterator[Finding]:
        """Return whether Copilot, where it is here, loads our plugin once and runs its hooks."""
        if self._folder.is_dir() or shutil.which(installation.BINARY, path=patient.environment.get("PATH")):
            registration = Registration(self._folder, self._plugin_folder, Path.cwd())
            yield from registration.look(self.notes(self.version()))

    def _is_registered(self) -> bool:
        document = object_with_comments(self.settings)
        return document is not None and all(member(document, path) == value for path, value in self._members)

    def _names_us(self) -> bool:
        document = object_with_comments(self.settings)
        return document is not None and any(member(document, path) is not None for path, _ in self._members)

    def _unregister(self, report: Report, *, dry_run: bool) -> None:
        applied = self._record.get(self.settings)
        if applied is None and not self._names_us():
            return
        report.changed.append(str(self.settings))
        if dry_run:
            return
        if applied is None:
            # The record is lost with the home: take our entries away by their names.
            edits: list[Edit] = [RemoveMember(path) for path, _ in self._members]
            edits += [RemoveEmpty(path[:1]) for path, _ in self._members]
            self._write(self.settings, edits)
        elif not restore(
            Place(self._root, self.settings), applied, JSON_WITH_COMMENTS, self._surroundings()
        ).written:
            report.changed.remove(str(self.settings))
        self._record.drop(self.settings)

    def _remove_copies(self, report: Report, *, dry_run: bool) -> None:
        """Remove copies of our plugin that were installed directly: their hooks would run once more."""
        config = self._folder / installation.CONFIG_NAME
        document = object_with_comments(config)
        if document is None or not any(map(is_copy_of_ours, _copies_in(document))):
            return
        report.changed.append(str(config))
        folders = folders_of_copies(document, self._folder)
        if not dry_run:
            self._write(config, _edits_removing_copies)
        for folder in folders:
            remove_own_folder(folder, report, dry_run=dry_run)

    def _write(
        self,
        file: Path,
        edits: list[Edit] | Callable[[Document], list[Edit]],
        record: Callable[[Applied], None] = keep_no_record,
    ) -> bool:
        place = Place(self._root, file)
        return write_edits(place, edits, JSON_WITH_COMMENTS, self._surroundings(record)).written

    def _keep(self, before: Applied | None, applied: Applied) -> None:
        self._record.put(self.settings, applied if before is None else before.then(applied))

    def _surroundings(self, record: Callable[[Applied], None] = keep_no_record) -> Surroundings:
        return Surroundings(allow_tracked=self._allow_tracked, record=record)


def _copies_in(document: Mapping[str, object]) -> list[JSON]:
    listed = member(document, plugin.DIRECT_INSTALLS)
    return cast("list[JSON]", listed) if isinstance(listed, list) else []


def _edits_removing_copies(document: Document) -> list[Edit]:
    return [
        RemoveElement(plugin.DIRECT_INSTALLS, entry)
        for entry in _copies_in(document)
        if is_copy_of_ours(entry)
    ]
