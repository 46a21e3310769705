"""
Installing into opencode and removing again: one file in our home, and an entry in the user's list of plugins.

The user's configurations may hold comments, which stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.console.checks import ok, problem, warning
from tokeneconomizer.console.installations.given import daemon_words
from tokeneconomizer.console.installations.json_members import object_with_comments
from tokeneconomizer.console.installations.own_files import (
    look_at_own_files,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.console.installations.shape import Installation
from tokeneconomizer.hosts.opencode import installation
from tokeneconomizer.hosts.opencode.plugin import ENTRY_END, PLUGIN_NAME, plugin_files
from tokeneconomizer.hosts.recognise import OPENCODE
from tokeneconomizer.scheduler.foreign_files import end_of
from tokeneconomizer.writers.edits import AddElement, AddMember, RemoveElement, RemoveEmpty
from tokeneconomizer.writers.json_with_comments import JSON_WITH_COMMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding
    from tokeneconomizer.writers.edits import Document, Edit

LOG_TAIL_BYTES = 262_144
"""Some hundred starts of opencode."""

LOAD_FAILURE = b'message="failed to load plugin"'
"""Written when a plugin's own code fails (1.18.33); of a file that is gone, or no code, nothing is said."""


class OpenCode(Installation):
    """opencode's installation."""

    NAME: ClassVar = OPENCODE
    TITLE: ClassVar = "opencode"
    NEXT: ClassVar = "opencode loads the plugin at its next start; `te status` shows what it tells."
    BINARY: ClassVar = installation.BINARY
    MEASURED: ClassVar = installation.MEASURED

    @property
    def folder(self) -> Path:
        """The agent's own folder."""
        return installation.config_root(self._agents_home, self._environment) / "opencode"

    @property
    def configurations(self) -> tuple[Path, Path]:
        """The user's own; the list of the second one, where it has any, counts alone."""
        names = (installation.CONFIG_NAME, installation.CONFIG_NAME_WITH_COMMENTS)
        return self.folder / names[0], self.folder / names[1]

    def install(self, *, dry_run: bool) -> Report:
        """Write the plugin's file and register it."""
        report = Report()
        write_own_files(self._own_folder, self._files(), report, dry_run=dry_run)
        file = self._file_to_change()
        self._user_file(file.name, JSON_WITH_COMMENTS).register(self._edits, report, dry_run=dry_run)
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """Take back what was written."""
        report = Report()
        for file in self.configurations:
            self._user_file(file.name, JSON_WITH_COMMENTS).take_back(_removals, report, dry_run=dry_run)
        remove_own_folder(self._own_folder, report, dry_run=dry_run)
        return report

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version, and of starts without npm's registry."""
        notes = super().notes(version)
        if not self._has_package():
            notes.append(f"opencode will install @opencode-ai/plugin into {self.folder}: {_SLOW_WITHOUT}")
        return notes

    def findings(self) -> Iterator[Finding]:
        """Return whether opencode loads our plugin."""
        for file in self.configurations:
            if object_with_comments(file) is None:
                yield problem(f"opencode: {file} cannot be read as JSON", "mend it: opencode cannot, either")
                return
        registered = [file for file in self.configurations if self._entry in _plugins_in(file)]
        counting = self._counting()
        if not registered:
            yield problem("opencode: our plugin is not registered", "run `te setup opencode`")
            return
        if counting not in registered:
            words = f"opencode passes over our plugin: the list in {counting} counts alone"
            yield problem(words, f'add "{self._entry}" to that list')
            return
        others = [entry for entry in _plugins_in(counting) if _is_ours(entry) and entry != self._entry]
        if others:
            yield problem(f"opencode loads our plugin twice, also {others[0]}", "run `te setup opencode`")
        yield from look_at_own_files(self._own_folder, self._files(), self.TITLE, self.NAME)
        yield from self._look_at_starts()

    def _look_at_starts(self) -> Iterator[Finding]:
        log = installation.log_file(self._agents_home, self._environment)
        lines = end_of(str(log), LOG_TAIL_BYTES).splitlines()
        if any(LOAD_FAILURE in line and PLUGIN_NAME.encode() in line for line in lines):
            yield warning(
                f"opencode could not load our plugin at one of its last starts: see {log}",
                "run `te setup opencode`, and report the line where it comes again",
            )
        if self._has_package():
            yield ok("opencode has installed what it starts plugins with")
        else:
            yield warning(
                f"opencode has not installed @opencode-ai/plugin into {self.folder} yet: {_SLOW_WITHOUT}",
                "start opencode once while npm's registry can be reached",
            )

    def _file_to_change(self) -> Path:
        """Return the configuration that our entry goes into."""
        plain, commented = self.configurations
        if self._has_list(plain) or self._has_list(commented):
            # A list in one file hides that in the other, so the list that is there is the one to add to.
            return self._counting()
        return commented if commented.exists() and not plain.exists() else plain

    def _counting(self) -> Path:
        plain, commented = self.configurations
        return commented if self._has_list(commented) else plain

    @staticmethod
    def _has_list(file: Path) -> bool:
        return "plugin" in (object_with_comments(file) or {})

    def _edits(self, value: Document) -> list[Edit]:
        edits: list[Edit] = [] if value else [AddMember(*installation.SCHEMA)]
        edits += [
            RemoveElement(installation.PLUGINS, entry) for entry in _ours_in(value) if entry != self._entry
        ]
        return [*edits, AddElement(installation.PLUGINS, self._entry)]

    @property
    def _entry(self) -> str:
        return (self._own_folder / PLUGIN_NAME).absolute().as_uri()

    def _files(self) -> dict[str, str]:
        return plugin_files(str(self._home.root.absolute()), daemon_words())

    def _has_package(self) -> bool:
        return (self.folder / installation.PLUGIN_PACKAGE).is_dir()


def _ours_in(value: Document) -> list[str]:
    plugins = value.get("plugin")
    return [str(entry) for entry in plugins if _is_ours(entry)] if isinstance(plugins, list) else []


def _removals(value: Document) -> list[Edit]:
    removed: list[Edit] = [RemoveElement(installation.PLUGINS, entry) for entry in _ours_in(value)]
    return [*removed, RemoveEmpty(installation.PLUGINS)] if removed else []


_SLOW_WITHOUT = "until it has, each of its starts waits a minute or more where npm's registry is out of reach"


def _plugins_in(file: Path) -> list[str]:
    plugins = (object_with_comments(file) or {}).get("plugin")
    return [entry for entry in plugins if isinstance(entry, str)] if isinstance(plugins, list) else []


def _is_ours(entry: object) -> bool:
    return isinstance(entry, str) and entry.startswith("file://") and entry.endswith(ENTRY_END)
