"""
Installing into Codex and removing again: a marketplace in our home, Codex's copy of it, and two tables.

The same files and tables as `codex plugin marketplace add` and `codex plugin add` leave (0.171.0), so that no
`codex` need be in the PATH. Whether its hooks may run is the user's to say, and never written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from tokeneconomizer.console.checks import problem
from tokeneconomizer.console.installations.codex_hooks import APPROVAL, untrusted_hooks
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.own_files import (
    look_at_own_files,
    remove_empty_folders,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.console.installations.second_hooks import look_for_second_hooks
from tokeneconomizer.console.installations.shape import Installation
from tokeneconomizer.console.installations.user_file import UserFile, has_member, removing
from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.codex import installation, plugin
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.marketplace import PLUGIN_ID
from tokeneconomizer.hosts.recognise import CODEX
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.writers.edits import JSON, Document, Edit, RemoveEmpty, RemoveMember, SetMember
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.guards import MAX_FILE_BYTES
from tokeneconomizer.writers.toml import Toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding

TOML = Toml()


class Codex(Installation):
    """Codex's installation."""

    NAME: ClassVar = CODEX
    TITLE: ClassVar = "Codex"
    NEXT: ClassVar = f"Codex runs no hook before you trust it: {APPROVAL}."
    BINARY: ClassVar = installation.BINARY
    MEASURED: ClassVar = installation.MEASURED

    @property
    def folder(self) -> Path:
        """The agent's own folder."""
        return installation.codex_home(AgentHomes(self._agents_home, self._environment))

    def install(self, *, dry_run: bool) -> Report:
        """Render the plugin, put Codex's copy in place, and register it."""
        report, config = Report(), self._config()
        # A configuration that cannot be read is left alone with all that is beside it.
        config.value()
        files = plugin.plugin_files(hook_words(), te_words())
        write_own_files(self._own_folder, plugin.marketplace_files(files), report, dry_run=dry_run)
        is_new = not _holds_exactly(self._copy, files)
        # What Codex noted of an earlier copy's hooks says nothing of the new one's, and an older registration
        # is no state to go back to: neither removal is recorded.
        if is_new:
            config.change(_stale_trust, report, dry_run=dry_run)
        config.change(self._differing, report, dry_run=dry_run)
        # Before the copy: so it is on record which folders were made.
        config.register(self._missing, report, dry_run=dry_run)
        if is_new:
            remove_own_folder(self.folder / plugin.COPY_FOLDER, report, dry_run=dry_run)
            write_own_files(self._copy, files, report, dry_run=dry_run)
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """Take back what was written, and what Codex noted of our hooks."""
        report = Report()
        remove_own_folder(self.folder / plugin.COPY_FOLDER, report, dry_run=dry_run)
        folders = [self.folder / name for name in plugin.EMPTY_FOLDERS]
        remove_empty_folders(folders, report, dry_run=dry_run)
        names = removing([path for path, _ in self._tables()], with_parents=False)
        self._config().take_back(names, report, dry_run=dry_run, noted_by_agent=_stale_trust)
        remove_own_folder(self._own_folder, report, dry_run=dry_run)
        return report

    def findings(self) -> Iterator[Finding]:
        """Return whether Codex runs our hooks."""
        config = self._config()
        try:
            value = config.value()
        except WriteRefused as refusal:
            yield problem(f"Codex: {config.path} cannot be read: {refusal}", "mend it, then run this again")
            return
        enabled = member(value, ("plugins", PLUGIN_ID, "enabled"))
        if member(value, ("features", "hooks")) is False:
            yield problem(
                "Codex: `features.hooks` is off, so that it calls no hook", f"remove it from {config.path}"
            )
        elif enabled is False:
            yield problem("Codex: our plugin is switched off", "run `te setup codex`")
        elif any(member(value, path) != table for path, table in self._tables()):
            yield problem("Codex: our hooks are not registered", "run `te setup codex`")
        else:
            yield from self._look_at_copy()
        launchers_in = (self.folder / "hooks.json", config.path)
        yield from look_for_second_hooks(self.TITLE, launchers_in)

    def _look_at_copy(self) -> Iterator[Finding]:
        files = plugin.plugin_files(hook_words(), te_words())
        yield from look_at_own_files(self._copy, files, self.TITLE, self.NAME)
        if _names_in(self._copy) - set(files):
            yield problem(
                f"Codex: files were added to {self._copy}, so that it runs none of our hooks",
                "run `te setup codex`, then trust the hooks again",
            )
        words = untrusted_hooks(beginning_of(self._config().path, MAX_FILE_BYTES))
        if words:
            yield problem(f"Codex: {words}", APPROVAL)

    @property
    def _copy(self) -> Path:
        return self.folder / plugin.COPY

    def _config(self) -> UserFile:
        return self._user_file(installation.CONFIG_FILE, TOML)

    def _tables(self) -> list[tuple[tuple[str, ...], JSON]]:
        tables = plugin.config_tables(str(self._own_folder))
        return [(path, cast("JSON", table)) for path, table in tables.items()]

    def _missing(self, value: Document) -> list[Edit]:
        return [SetMember(path, table) for path, table in self._tables() if not has_member(value, path)]

    def _differing(self, value: Document) -> list[Edit]:
        return [
            RemoveMember(path)
            for path, table in self._tables()
            if has_member(value, path) and member(value, path) != table
        ]


def _stale_trust(value: Document) -> list[Edit]:
    """Return the edits that take away what Codex noted of our hooks."""
    state = member(value, ("hooks", "state"))
    keys = [key for key in state if key.startswith(f"{PLUGIN_ID}:")] if isinstance(state, dict) else []
    removed: list[Edit] = [RemoveMember(("hooks", "state", key)) for key in keys]
    return [*removed, RemoveEmpty(("hooks", "state")), RemoveEmpty(("hooks",))] if removed else []


def _names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def _holds_exactly(folder: Path, files: Mapping[str, str]) -> bool:
    """Return whether a folder holds these files and no other: Codex looks at all of them."""
    return _names_in(folder) == set(files) and all(
        (folder / name).read_bytes() == text.encode() for name, text in files.items()
    )
