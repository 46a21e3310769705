"""
Installing into opencode and removing again: one file in our home, and an entry in the user's list of plugins.

A configuration with comments is left alone: where opencode reads another one beside it, the entry goes there,
else the user is told the line. What was written is recorded before the file is touched.
"""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.console.checks import ok, problem, warning
from tokeneconomizer.console.installations.given import daemon_words
from tokeneconomizer.console.installations.json_members import json_object, object_with_comments
from tokeneconomizer.console.installations.own_files import (
    look_at_own_files,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.record import InstalledRecord
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.hosts.opencode import installation
from tokeneconomizer.hosts.opencode.plugin import ENTRY_END, PLUGIN_NAME, plugin_files
from tokeneconomizer.hosts.recognise import OPENCODE
from tokeneconomizer.scheduler.agent_versions import printed_version
from tokeneconomizer.scheduler.foreign_files import end_of
from tokeneconomizer.writers.edits import AddElement, AddMember, RemoveElement, RemoveEmpty
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.strict_json import STRICT_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding, Patient
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.applied import Applied
    from tokeneconomizer.writers.edits import Document, Edit

LOG_TAIL_BYTES = 262_144
"""Some hundred starts of opencode."""

LOAD_FAILURE = b'message="failed to load plugin"'
"""Written when a plugin's own code fails (1.18.33); of a file that is gone, or no code, nothing is said."""


class OpenCode:
    """opencode's installation; see `shape.Installation`."""

    NAME: ClassVar[str] = OPENCODE
    TITLE: ClassVar[str] = "opencode"
    NEXT: ClassVar[str] = "opencode loads the plugin at its next start; `te status` shows what it tells."

    def __init__(
        self, home: Home, agents_home: Path, environment: Mapping[str, str], *, allow_tracked: bool = False
    ) -> None:
        self._home = home
        self._agents_home = agents_home
        configurations = installation.config_root(agents_home, environment)
        # What is made on the way to the file is removed again, as far as the user's home.
        self._root = agents_home if agents_home in configurations.parents else configurations
        self._folder = configurations / "opencode"
        self._plugin_folder = home.plugins / OPENCODE
        self._entry = (self._plugin_folder / PLUGIN_NAME).absolute().as_uri()
        self._record = InstalledRecord(home.installed)
        self._allow_tracked = allow_tracked

    @property
    def configurations(self) -> tuple[Path, Path]:
        """The user's own; the list of the second one, where it has any, counts alone."""
        names = (installation.CONFIG_NAME, installation.CONFIG_NAME_WITH_COMMENTS)
        return self._folder / names[0], self._folder / names[1]

    def is_present(self) -> bool:
        """Return whether the agent was ever used or installed here."""
        return self._folder.is_dir() or shutil.which(installation.BINARY) is not None

    def version(self) -> str:
        """Return what the agent says its version is; empty when it cannot be asked."""
        return printed_version(installation.BINARY)

    def install(self, *, dry_run: bool) -> Report:
        """
        Write the plugin's file and register it.

        Raises:
            WriteRefused: the configuration was left as it is.

        """
        report = Report()
        file = self._file_to_change()
        write_own_files(self._plugin_folder, self._files(), report, dry_run=dry_run)
        if file is None:
            return report
        if dry_run:
            report.changed.append(str(file))
            return report
        before = self._record.get(file)
        keep = partial(self._keep, file, before)
        outcome = write_edits(Place(self._root, file), self._edits, STRICT_JSON, self._surroundings(keep))
        if outcome.written:
            report.changed.append(str(file))
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """
        Take back what was written.

        Raises:
            WriteRefused: the configuration was left as it is; what was done before it stays done.

        """
        report = Report()
        for file in self.configurations:
            self._unregister(file, report, dry_run=dry_run)
        remove_own_folder(self._plugin_folder, report, dry_run=dry_run)
        return report

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version, and of starts without npm's registry."""
        notes, numbers = [], installation.version_in(version)
        if numbers is not None and numbers < installation.OLDEST_MEASURED:
            oldest = ".".join(str(part) for part in installation.OLDEST_MEASURED)
            notes.append(f"opencode {version} is older than {oldest}, the oldest that was tried: update it")
        if numbers is not None and numbers >= installation.UNTRIED_FROM:
            notes.append(f"opencode {version}: the plugin's part for 2.x was never run with the real program")
        if not self._has_package():
            notes.append(f"opencode will install @opencode-ai/plugin into {self._folder}: {_SLOW_WITHOUT}")
        return notes

    def look_at(self, patient: Patient) -> Iterator[Finding]:
        """Return whether opencode, where it is here, loads our plugin."""
        if not self._folder.is_dir() and not shutil.which(
            installation.BINARY, path=patient.environment.get("PATH")
        ):
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
        yield from look_at_own_files(self._plugin_folder, self._files(), self.TITLE, self.NAME)
        yield from self._look_at_starts(patient)

    def _look_at_starts(self, patient: Patient) -> Iterator[Finding]:
        log = installation.log_file(self._agents_home, patient.environment)
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
                f"opencode has not installed @opencode-ai/plugin into {self._folder} yet: {_SLOW_WITHOUT}",
                "start opencode once while npm's registry can be reached",
            )

    def _file_to_change(self) -> Path | None:
        """Return the configuration that our entry goes into; None where it is in place."""
        plain, commented = self.configurations
        counting = self._counting()
        plugins = _plugins_in(counting)
        if self._entry in plugins and not any(_is_ours(entry) and entry != self._entry for entry in plugins):
            return None
        # A list in one file hides that in the other, so the list that is there is the one to add to.
        wanted = [counting] if plugins or self._has_list(counting) else [plain, commented]
        for file in wanted:
            if json_object(file) is not None:
                return file
        detail = f'{wanted[0]} has comments, or is no JSON: add "{self._entry}" to its list `plugin`'
        raise WriteRefused(Reason.UNPROVEN_EDIT, detail)

    def _counting(self) -> Path:
        plain, commented = self.configurations
        return commented if self._has_list(commented) else plain

    @staticmethod
    def _has_list(file: Path) -> bool:
        return "plugin" in (object_with_comments(file) or {})

    def _edits(self, value: Document) -> list[Edit]:
        plugins = value.get("plugin")
        entries = plugins if isinstance(plugins, list) else []
        edits: list[Edit] = [] if value else [AddMember(*installation.SCHEMA)]
        edits += [
            RemoveElement(installation.PLUGINS, entry)
            for entry in entries
            if _is_ours(entry) and entry != self._entry
        ]
        return [*edits, AddElement(installation.PLUGINS, self._entry)]

    def _unregister(self, file: Path, report: Report, *, dry_run: bool) -> None:
        applied = self._record.get(file)
        ours = [entry for entry in _plugins_in(file) if _is_ours(entry)]
        if applied is None and not ours:
            return
        if applied is None and json_object(file) is None:
            detail = f'{file} has comments: remove "{ours[0]}" from its list `plugin`'
            raise WriteRefused(Reason.UNPROVEN_EDIT, detail)
        report.changed.append(str(file))
        if dry_run:
            return
        place = Place(self._root, file)
        if applied is None:
            # The record is lost with the home, or the user made the entry: take it away by its name.
            edits: list[Edit] = [RemoveElement(installation.PLUGINS, entry) for entry in ours]
            write_edits(place, [*edits, RemoveEmpty(installation.PLUGINS)], STRICT_JSON, self._surroundings())
        elif not restore(place, applied, STRICT_JSON, self._surroundings()).written:
            report.changed.remove(str(file))
        self._record.drop(file)

    def _files(self) -> dict[str, str]:
        return plugin_files(str(self._home.root.absolute()), daemon_words())

    def _has_package(self) -> bool:
        return (self._folder / installation.PLUGIN_PACKAGE).is_dir()

    def _keep(self, file: Path, before: Applied | None, applied: Applied) -> None:
        self._record.put(file, applied if before is None else before.then(applied))

    def _surroundings(self, record: Callable[[Applied], None] = keep_no_record) -> Surroundings:
        return Surroundings(allow_tracked=self._allow_tracked, record=record)


_SLOW_WITHOUT = "until it has, each of its starts waits a minute or more where npm's registry is out of reach"


def _plugins_in(file: Path) -> list[str]:
    plugins = (object_with_comments(file) or {}).get("plugin")
    return [entry for entry in plugins if isinstance(entry, str)] if isinstance(plugins, list) else []


def _is_ours(entry: object) -> bool:
    return isinstance(entry, str) and entry.startswith("file://") and entry.endswith(ENTRY_END)
