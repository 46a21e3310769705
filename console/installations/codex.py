"""
Installing into Codex and removing again: a marketplace in our home, Codex's copy of it, and two tables.

The same files and tables as `codex plugin marketplace add` and `codex plugin add` leave (0.171.0), so that no
`codex` need be in the PATH. Whether its hooks may run is the user's to say, and never written here.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, ClassVar, cast

from tokeneconomizer.console.checks import problem, warning
from tokeneconomizer.console.installations.codex_hooks import APPROVAL, untrusted_hooks
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.own_files import (
    look_at_own_files,
    remove_empty_folder,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.record import InstalledRecord
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.codex import installation, plugin
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.recognise import CODEX
from tokeneconomizer.scheduler.agent_versions import printed_version
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.writers.edits import JSON, Document, Edit, RemoveEmpty, RemoveMember, SetMember
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.toml import Toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding, Patient
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.applied import Applied

CONFIG_BYTES_MAX = 5_000_000
"""A configuration is some kilobytes."""

TOML = Toml()


class Codex:
    """Codex's installation; see `shape.Installation`."""

    NAME: ClassVar[str] = CODEX
    TITLE: ClassVar[str] = "Codex"
    NEXT: ClassVar[str] = f"Codex runs no hook before you trust it: {APPROVAL}."

    def __init__(
        self, home: Home, agents_home: Path, environment: Mapping[str, str], *, allow_tracked: bool = False
    ) -> None:
        homes = AgentHomes(agents_home, environment)
        self._folder = installation.codex_home(homes)
        self._root = agents_home if self._folder.is_relative_to(agents_home) else self._folder
        self._search_path = environment.get("PATH")
        self._marketplace = home.plugins / CODEX
        self._copy = self._folder / plugin.COPY
        self._record = InstalledRecord(home.installed)
        self._allow_tracked = allow_tracked

    @property
    def config(self) -> Path:
        """The user's configuration."""
        return self._folder / installation.CONFIG_FILE

    def is_present(self) -> bool:
        """Return whether the agent was ever used or installed here."""
        return self._folder.is_dir() or shutil.which(installation.BINARY, path=self._search_path) is not None

    def version(self) -> str:
        """Return what the agent says its version is; empty when it cannot be asked."""
        return printed_version(installation.BINARY)

    def install(self, *, dry_run: bool) -> Report:
        """
        Render the plugin, put Codex's copy in place, and register it.

        Raises:
            WriteRefused: the configuration was left as it is.

        """
        report = Report()
        files = plugin.plugin_files(hook_words(), te_words())
        TOML.parse(self._config_text())
        write_own_files(self._marketplace, plugin.marketplace_files(files), report, dry_run=dry_run)
        is_new = not _holds_exactly(self._copy, files)
        if is_new:
            remove_own_folder(self._folder / plugin.COPY_FOLDER, report, dry_run=dry_run)
            write_own_files(self._copy, files, report, dry_run=dry_run)
        self._register(report, dry_run=dry_run, is_new=is_new)
        return report

    def _register(self, report: Report, *, dry_run: bool, is_new: bool) -> None:
        """Add our tables; what Codex noted of an earlier copy's hooks says nothing of the new one's."""

        def edits_for(value: Document) -> list[Edit]:
            edits: list[Edit] = _stale_trust(value) if is_new else []
            for path, table in self._tables().items():
                if member(value, path) != table:
                    edits += [RemoveMember(path)] if _has(value, path) else []
                    edits.append(SetMember(path, cast("JSON", table)))
            return edits

        edits = edits_for(TOML.parse(self._config_text()))
        if not edits:
            return
        report.changed.append(str(self.config))
        if dry_run:
            return
        if not all(isinstance(edit, SetMember) for edit in edits):
            # An older copy of ours is no state to go back to: then our tables are removed by their names.
            self._record.drop(self.config)
            write_edits(self._place(), edits_for, TOML, self._surroundings())
        else:
            write_edits(self._place(), edits_for, TOML, self._surroundings(self._keep))

    def uninstall(self, *, dry_run: bool) -> Report:
        """
        Take back what was written, and what Codex noted of our hooks.

        Raises:
            WriteRefused: the configuration was left as it is.

        """
        report = Report()
        self._unregister(report, dry_run=dry_run)
        remove_own_folder(self._folder / plugin.COPY_FOLDER, report, dry_run=dry_run)
        for name in (plugin.DATA_FOLDER, "plugins/data", "plugins/cache", "plugins"):
            remove_empty_folder(self._folder / name, report, dry_run=dry_run)
        remove_own_folder(self._marketplace, report, dry_run=dry_run)
        return report

    def _unregister(self, report: Report, *, dry_run: bool) -> None:
        applied = self._record.get(self.config)
        if applied is None and not self._removals(TOML.parse(self._config_text())):
            return
        report.changed.append(str(self.config))
        if dry_run:
            return
        # First what Codex added: without it the file may be as we left it, to be taken back byte for byte.
        write_edits(self._place(), _stale_trust, TOML, self._surroundings())
        if applied is not None:
            restore(self._place(), applied, TOML, self._surroundings())
        write_edits(self._place(), self._removals, TOML, self._surroundings())
        self._record.drop(self.config)

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version of the agent."""
        words = installation.unmeasured(version)
        return [f"Codex {words}"] if words else []

    def look_at(self, patient: Patient) -> Iterator[Finding]:
        """Return whether Codex, where it is here, runs our hooks."""
        if not self._folder.is_dir() and not shutil.which(
            installation.BINARY, path=patient.environment.get("PATH")
        ):
            return
        try:
            value = TOML.parse(self._config_text())
        except WriteRefused as refusal:
            yield problem(f"Codex: {self.config} cannot be read: {refusal}", "mend it, then run this again")
            return
        registered = {path: member(value, path) for path in self._tables()}
        enabled = member(value, ("plugins", plugin.PLUGIN_ID, "enabled"))
        if member(value, ("features", "hooks")) is False:
            yield problem(
                "Codex: `features.hooks` is off, so that it calls no hook", f"remove it from {self.config}"
            )
        elif enabled is False:
            yield problem("Codex: our plugin is switched off", "run `te setup codex`")
        elif registered != self._tables():
            yield problem("Codex: our hooks are not registered", "run `te setup codex`")
        else:
            yield from self._look_at_copy()
        yield from self._look_around()

    def _look_at_copy(self) -> Iterator[Finding]:
        files = plugin.plugin_files(hook_words(), te_words())
        yield from look_at_own_files(self._copy, files, self.TITLE, self.NAME)
        if _names_in(self._copy) - set(files):
            yield problem(
                f"Codex: files were added to {self._copy}, so that it runs none of our hooks",
                "run `te setup codex`, then trust the hooks again",
            )
        words = untrusted_hooks(beginning_of(self.config, CONFIG_BYTES_MAX))
        if words:
            yield problem(f"Codex: {words}", APPROVAL)

    def _look_around(self) -> Iterator[Finding]:
        """Return what is doubtful beside our own registration."""
        launcher = hook_words()[-1].encode()
        for file in (self._folder / "hooks.json", self.config):
            if launcher in beginning_of(file, CONFIG_BYTES_MAX):
                yield warning(
                    f"Codex: {file} calls our hook client, too; each call is stored once all the same",
                    "remove it there: the plugin is enough",
                )
        version = self.version()
        words = installation.unmeasured(version)
        if version and words:
            yield warning(f"Codex {words}", "see that `te status` counts its calls")

    def _tables(self) -> dict[tuple[str, str], dict[str, str | bool]]:
        return plugin.config_tables(str(self._marketplace))

    def _removals(self, value: Document) -> list[Edit]:
        """Return the edits that take away all that names us."""
        tables: list[Edit] = [RemoveMember(path) for path in self._tables() if _has(value, path)]
        return [*tables, *_stale_trust(value)]

    def _config_text(self) -> str:
        return beginning_of(self.config, CONFIG_BYTES_MAX).decode(errors="replace")

    def _place(self) -> Place:
        return Place(self._root, self.config)

    def _keep(self, applied: Applied) -> None:
        before = self._record.get(self.config)
        self._record.put(self.config, applied if before is None else before.then(applied))

    def _surroundings(self, record: Callable[[Applied], None] = keep_no_record) -> Surroundings:
        return Surroundings(allow_tracked=self._allow_tracked, record=record)


def _stale_trust(value: Document) -> list[Edit]:
    """Return the edits that take away what Codex noted of our hooks."""
    state = member(value, ("hooks", "state"))
    keys = [key for key in state if key.startswith(f"{plugin.PLUGIN_ID}:")] if isinstance(state, dict) else []
    removed: list[Edit] = [RemoveMember(("hooks", "state", key)) for key in keys]
    return [*removed, RemoveEmpty(("hooks", "state")), RemoveEmpty(("hooks",))] if removed else []


def _has(value: Document, path: tuple[str, str]) -> bool:
    parent = value.get(path[0])
    return isinstance(parent, dict) and path[1] in parent


def _names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def _holds_exactly(folder: Path, files: Mapping[str, str]) -> bool:
    """Return whether a folder holds these files and no other: Codex looks at all of them."""
    return _names_in(folder) == set(files) and all(
        (folder / name).read_bytes() == text.encode() for name, text in files.items()
    )
