"""What `te doctor` finds of our hooks in Copilot CLI: whether they run, and whether they run twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.console.checks import problem, warning
from tokeneconomizer.console.installations.copilot_files import folders_of_copies
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.json_members import SETTINGS_BYTES_MAX, object_with_comments
from tokeneconomizer.console.installations.own_files import look_at_own_files
from tokeneconomizer.console.installations.second_hooks import look_for_second_hooks
from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.copilot import installation, plugin
from tokeneconomizer.hosts.copilot.trust import trusts
from tokeneconomizer.hosts.marketplace import ENABLED
from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.scheduler.foreign_files import beginning_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding

TITLE = "Copilot CLI"

SET_UP = "run `te setup copilot`"


@dataclass(frozen=True, slots=True)
class Registration:
    """
    Looks at what Copilot would load.

    Attributes:
        folder: the agent's own folder.
        plugin_folder: ours.
        checkout: the folder in which the user works.

    """

    folder: Path
    plugin_folder: Path
    checkout: Path

    def look(self) -> Iterator[Finding]:
        """Return the findings."""
        settings = object_with_comments(self.folder / installation.SETTINGS_FILE)
        if settings is None:
            words = f"{self.folder / installation.SETTINGS_FILE} cannot be read as JSON"
            yield problem(words, "mend it: the agent ignores it, too")
            return
        value = member(settings, ENABLED)
        if value is True:
            files = plugin.plugin_files(hook_words(), te_words())
            yield from look_at_own_files(self.plugin_folder, files, TITLE, COPILOT)
        elif value is False:
            yield problem(f"{TITLE}: our plugin is switched off", SET_UP)
        else:
            yield problem(f"{TITLE}: our hooks are not registered", SET_UP)
        yield from self._switched_off()
        yield from self._untrusted()
        yield from self._twice()

    def _switched_off(self) -> Iterator[Finding]:
        for name in installation.SWITCHES:
            path = self.checkout / name
            if (object_with_comments(path) or {}).get("disableAllHooks") is True:
                yield problem(
                    f"{TITLE}: `disableAllHooks` in {path} stops all hooks in this checkout",
                    "remove it there",
                )

    def _untrusted(self) -> Iterator[Finding]:
        """Return that the user has not trusted this checkout; hooks of plugins run there all the same."""
        config = beginning_of(self.folder / installation.CONFIG_NAME, SETTINGS_BYTES_MAX)
        if (self.checkout / ".git").exists() and not trusts(config, [str(self.checkout)]):
            words = "is not trusted: no facts are told there, and deny lists are ignored"
            yield warning(
                f"{TITLE}: {self.checkout} {words}",
                "start `copilot` there and trust the folder; for facts alone, "
                "`te config set trust yes --repo DIR`",
            )

    def _twice(self) -> Iterator[Finding]:
        """Return where our hooks are registered once more; what they tell is stored once all the same."""
        config = object_with_comments(self.folder / installation.CONFIG_NAME) or {}
        for copy in folders_of_copies(config, self.folder):
            yield problem(f"{TITLE} runs each of our hooks twice: {copy} is a copy of our plugin", SET_UP)
        user_files = [
            self.folder / installation.SETTINGS_FILE,
            *sorted((self.folder / installation.HOOKS_FOLDER).glob("*.json")),
        ]
        checkout_files = [
            *(self.checkout / name for name in installation.SWITCHES),
            *sorted((self.checkout / installation.REPOSITORY_HOOKS_FOLDER).rglob("*.json")),
        ]
        yield from look_for_second_hooks(TITLE, (*user_files, *checkout_files))
