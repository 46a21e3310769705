"""Installing into Pi and removing again: one file of ours in the folder from which Pi loads extensions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.console.checks import ok, problem, warning
from tokeneconomizer.console.installations.given import daemon_words
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.hosts.bridge.rendering import Installation as Rendered
from tokeneconomizer.hosts.bridge.rendering import is_ours, render
from tokeneconomizer.hosts.pi import installation
from tokeneconomizer.hosts.recognise import PI
from tokeneconomizer.scheduler.agent_versions import printed_version
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.whole_file import make_own_folder, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.console.checks import Finding, Patient
    from tokeneconomizer.scheduler.home import Home

PART = "pi/extension.ts"
"""Pi's part of the file, in the folder `hosts`."""

VIA = "extension"

BEGINNING_BYTES = 100
"""More than the words by which our file is known."""


class Pi:
    """Pi's installation; see `shape.Installation`."""

    NAME: ClassVar[str] = PI
    TITLE: ClassVar[str] = "Pi"
    NEXT: ClassVar[str] = (
        "Pi loads the extension at its next start or `/reload`; `te status` shows what it tells."
    )

    def __init__(
        self,
        home: Home,
        agents_home: Path,
        environment: Mapping[str, str],
        *,
        allow_tracked: bool = False,  # noqa: ARG002 - no settings file is changed
    ) -> None:
        self._home = home
        self._folder = installation.agent_folder(agents_home, environment)
        self._made = home.plugins / PI / "made-folders.json"

    @property
    def extension(self) -> Path:
        """The file that Pi loads."""
        return self._folder / installation.EXTENSION

    def is_present(self) -> bool:
        """Return whether the agent was ever used or installed here."""
        return self._folder.is_dir() or shutil.which(installation.BINARY) is not None

    def version(self) -> str:
        """Return what the agent says its version is; empty when it cannot be asked."""
        return printed_version(installation.BINARY)

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
        if found == self._rendered():
            return report
        report.changed.append(str(self.extension))
        if not dry_run:
            try:
                self._make_folders()
                write_whole(self.extension, self._rendered())
            except OSError as error:
                message = f"{self.extension} cannot be written ({error.strerror}): see who owns its folder"
                raise WriteRefused(Reason.NOT_WRITABLE, message) from error
        return report

    def uninstall(self, *, dry_run: bool) -> Report:
        """Remove the extension, and the folders that were made for it where nothing else is in them."""
        report = Report()
        found = self._content()
        if found is not None and is_ours(found):
            report.changed.append(str(self.extension))
            if not dry_run:
                self.extension.unlink()
                self._remove_folders()
        return report

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version of the agent."""
        if not installation.is_older_than_measured(version):
            return []
        oldest = ".".join(str(part) for part in installation.OLDEST_MEASURED)
        return [f"Pi {version} is older than {oldest}, the oldest on which this was seen to work. Update it."]

    def look_at(self, patient: Patient) -> Iterator[Finding]:
        """Return whether Pi, where it is here, loads our extension."""
        if not self._folder.is_dir() and not shutil.which(
            installation.BINARY, path=patient.environment.get("PATH")
        ):
            return
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
        try:
            return self.extension.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _copies(self) -> list[Path]:
        others = sorted(self.extension.parent.glob("*.ts"))
        return [path for path in others if path != self.extension and is_ours(_beginning_of(path))]

    def _make_folders(self) -> None:
        folder = self.extension.parent
        missing = [str(path) for path in (folder, *folder.parents) if not path.exists()]
        if missing:
            make_own_folder(self._made.parent)
            write_whole(self._made, json.dumps(missing).encode())
        folder.mkdir(parents=True, exist_ok=True)

    def _remove_folders(self) -> None:
        if not self._made.exists():
            return
        for made in json.loads(self._made.read_bytes()):
            folder = Path(made)
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        shutil.rmtree(self._made.parent)


def _beginning_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(BEGINNING_BYTES)
    except OSError:
        return b""
