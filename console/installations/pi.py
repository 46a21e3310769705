"""Installing into Pi and removing again: one file of ours in the folder from which Pi loads extensions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.console.checks import ok, problem, warning
from tokeneconomizer.console.installations.given import daemon_words
from tokeneconomizer.console.installations.own_files import remove_empty_folders, remove_own_folder
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.console.installations.shape import Installation
from tokeneconomizer.hosts.bridge.rendering import Installation as Rendered
from tokeneconomizer.hosts.bridge.rendering import is_ours, render
from tokeneconomizer.hosts.pi import installation
from tokeneconomizer.hosts.recognise import PI
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.guards import refusing_os_errors
from tokeneconomizer.writers.whole_file import make_own_folder, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding

PART = "pi/extension.ts"
"""Pi's part of the file, in the folder `hosts`."""

VIA = "extension"

BEGINNING_BYTES = 100
"""More than the words by which our file is known."""


class Pi(Installation):
    """Pi's installation."""

    NAME: ClassVar = PI
    TITLE: ClassVar = "Pi"
    NEXT: ClassVar = "Pi loads the extension at its next start or `/reload`; `te status` shows what it tells."
    BINARY: ClassVar = installation.BINARY
    MEASURED: ClassVar = installation.MEASURED

    @property
    def folder(self) -> Path:
        """The agent's own folder."""
        return installation.agent_folder(self._agents_home, self._environment)

    @property
    def extension(self) -> Path:
        """The file that Pi loads."""
        return self.folder / installation.EXTENSION

    def install(self, *, dry_run: bool) -> Report:
        """
        Write the extension.

        Raises:
            WriteRefused: a file of that name is the user's own, or nothing can be written there.

        """
        found = self._content()
        if found is not None and not is_ours(found):
            message = f"{self.extension} was not written by this program: move it away first"
            raise WriteRefused(Reason.UNKNOWN_NAME, message)
        report = Report()
        if found != self._rendered():
            report.add_changed(self.extension)
            if not dry_run:
                with refusing_os_errors(self.extension):
                    self._make_folders()
                    write_whole(self.extension, self._rendered())
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """Remove the extension, and the folders that were made for it where nothing else is in them."""
        report = Report()
        found = self._content()
        if found is not None and is_ours(found):
            report.add_changed(self.extension)
            if not dry_run:
                with refusing_os_errors(self.extension):
                    self.extension.unlink()
        remove_empty_folders(self._folders_made(), report, dry_run=dry_run)
        remove_own_folder(self._own_folder, report, dry_run=dry_run)
        return report

    def findings(self) -> Iterator[Finding]:
        """Return whether Pi loads our extension, once."""
        advice = f"run `te setup {self.NAME}`"
        found = self._content()
        if found is None:
            yield problem("Pi: our extension is not installed", advice)
        elif not is_ours(found):
            yield problem(f"Pi: {self.extension} is not ours", "move it away, then " + advice)
        elif found != self._rendered():
            # The interpreter's path stands in it: after a move a daemon could not be started.
            yield problem("Pi loads an extension that another installation of this program wrote", advice)
        else:
            yield ok("Pi loads our extension")
        for copy in self._copies():
            yield warning(f"Pi loads our extension a second time, from {copy}", "remove that file")

    def _rendered(self) -> bytes:
        return render(PART, Rendered(PI, VIA, str(self._home.root), daemon_words()))

    def _content(self) -> bytes | None:
        with refusing_os_errors(self.extension):
            try:
                return self.extension.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _copies(self) -> list[Path]:
        others = sorted(self.extension.parent.glob("*.ts"))
        return [
            path for path in others if path != self.extension and is_ours(beginning_of(path, BEGINNING_BYTES))
        ]

    @property
    def _record(self) -> Path:
        return self._own_folder / "made-folders.json"

    def _make_folders(self) -> None:
        folder = self.extension.parent
        missing = [str(path) for path in (folder, *folder.parents) if not path.exists()]
        if missing:
            make_own_folder(self._own_folder)
            write_whole(self._record, json.dumps(missing).encode())
        folder.mkdir(parents=True, exist_ok=True)

    def _folders_made(self) -> list[Path]:
        """Return those of the folders above the extension that were made for it, the innermost first."""
        try:
            made = json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return []
        return [folder for folder in self.extension.parents if str(folder) in made]
