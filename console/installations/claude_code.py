"""Installing into Claude Code and removing again: our plugin, and two entries in its settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from tokeneconomizer.console.checks import problem
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.json_members import json_object
from tokeneconomizer.console.installations.own_files import (
    look_at_own_files,
    remove_empty_folders,
    remove_own_folder,
    write_own_files,
)
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.console.installations.second_hooks import look_for_second_hooks
from tokeneconomizer.console.installations.shape import Installation
from tokeneconomizer.console.installations.user_file import (
    UserFile,
    place_of,
    removing,
    setting,
)
from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.claude_code import installation, plugin
from tokeneconomizer.hosts.marketplace import ENABLED, settings_members
from tokeneconomizer.hosts.recognise import CLAUDE_CODE
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.strict_json import STRICT_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.console.checks import Finding
    from tokeneconomizer.console.installations.user_file import Members

STATE_FILE = ".claude.json"
"""Beside the agent's folder, or within the one that the user's variable names."""


class ClaudeCode(Installation):
    """Claude Code's installation."""

    NAME: ClassVar = CLAUDE_CODE
    TITLE: ClassVar = "Claude Code"
    NEXT: ClassVar = "Claude Code loads the hooks at its next start; `te status` shows what they tell."
    BINARY: ClassVar = installation.BINARY
    MEASURED: ClassVar = installation.MEASURED

    @property
    def folder(self) -> Path:
        """The agent's own folder."""
        named = self._environment.get(installation.CONFIG_VARIABLE, "")
        return Path(named) if named else self._agents_home / installation.CONFIG_FOLDER

    def install(self, *, dry_run: bool) -> Report:
        """Register the plugin, and render its folder."""
        report = Report()
        write_own_files(self._own_folder, _files(), report, dry_run=dry_run)
        self._settings().register(setting(self._members()), report, dry_run=dry_run)
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """Take back what was written, and our name where the agent wrote it by itself."""
        report = Report()
        names = removing([path for path, _ in self._members()])
        self._settings().take_back(names, report, dry_run=dry_run)
        for file, path in self._mentions():
            try:
                file.change(removing([path], with_parents=False), report, dry_run=dry_run)
            except WriteRefused as refusal:
                # The agent's own file names us still; it does nothing, and is no reason to stop here.
                report.notes.append(f"{file.path} still names this plugin: {refusal}")
        folders = [self.folder / name for name in plugin.EMPTY_FOLDERS]
        remove_empty_folders(folders, report, dry_run=dry_run)
        remove_own_folder(self._own_folder, report, dry_run=dry_run)
        return report

    def findings(self) -> Iterator[Finding]:
        """Return whether Claude Code loads our plugin once and runs its hooks."""
        advice = f"run `te setup {self.NAME}`"
        file = self.folder / installation.SETTINGS_FILE
        settings = json_object(file)
        if settings is None:
            yield problem(f"{file} cannot be read as JSON", "mend it: the agent ignores it, too")
            return
        value = member(settings, ENABLED)
        files = list(dict.fromkeys((file, *(Path.cwd() / name for name in installation.CHECKOUT_SETTINGS))))
        if value is True:
            switched_off = [finding for path in files for finding in self._switched_off(path)]
            loaded = look_at_own_files(self._own_folder, _files(), self.TITLE, self.NAME)
            yield from switched_off or loaded
        elif value is False:
            yield problem(
                f"{self.TITLE}: our plugin is switched off", f"enable it with `/plugin`, or {advice}"
            )
        else:
            yield problem(f"{self.TITLE}: our hooks are not registered", advice)
        yield from look_for_second_hooks(self.TITLE, files)

    def _switched_off(self, file: Path) -> Iterator[Finding]:
        settings = json_object(file) or {}
        if settings.get("disableAllHooks") is True:
            words = f"{self.TITLE}: `disableAllHooks` in {file} stops all hooks"
            yield problem(words, "remove it there")
        if file.parent != self.folder and member(settings, ENABLED) is False:
            words = f"{self.TITLE}: {file} switches our plugin off in this checkout"
            yield problem(words, "remove it from `enabledPlugins` there, unless it is meant so")

    def _members(self) -> Members:
        return cast("Members", settings_members(str(self._own_folder)))

    def _settings(self) -> UserFile:
        return self._user_file(installation.SETTINGS_FILE, STRICT_JSON)

    def _mentions(self) -> Iterator[tuple[UserFile, tuple[str, ...]]]:
        """Return the files in which Claude Code names us by itself, each with the member that does."""
        beside = self.folder if self._environment.get(installation.CONFIG_VARIABLE) else self._agents_home
        for name, path in plugin.MENTIONS:
            if name == STATE_FILE:
                place = place_of(beside, name, self._agents_home)
                yield replace(self._settings(), place=place), path
                for backup in sorted((self.folder / "backups").glob(f"{STATE_FILE}.backup.*")):
                    yield self._user_file(f"backups/{backup.name}", STRICT_JSON), path
            else:
                yield self._user_file(name, STRICT_JSON), path


def _files() -> dict[str, str]:
    return plugin.plugin_files(hook_words(), te_words())
