"""What every agent's installation offers; `table.INSTALLATIONS` names them all."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.console.checks import warning
from tokeneconomizer.console.installations.record import InstalledRecord
from tokeneconomizer.console.installations.user_file import UserFile, place_of
from tokeneconomizer.scheduler.agent_versions import packaged_version, printed_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding
    from tokeneconomizer.console.installations.report import Report
    from tokeneconomizer.hosts.measured import Measured
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.guarded_write import Format


class Installation(ABC):
    """
    One agent's installation.

    Args:
        home: our home, which holds what agents load.
        agents_home: the user's home.
        environment: where a variable may name the agent's folder.
        allow_tracked: whether a settings file that git tracks may be changed.

    """

    NAME: ClassVar[str]
    """The agent's name in events, flags and folders."""

    TITLE: ClassVar[str]
    """Its name for people."""

    NEXT: ClassVar[str]
    """What the user does or sees next, a sentence."""

    BINARY: ClassVar[str]
    """Its program."""

    MEASURED: ClassVar[Measured]
    """The versions for which it holds what we say."""

    def __init__(
        self, home: Home, agents_home: Path, environment: Mapping[str, str], *, allow_tracked: bool = False
    ) -> None:
        self._home = home
        self._agents_home = agents_home
        self._environment = environment
        self._allow_tracked = allow_tracked
        self._own_folder = home.plugins / self.NAME

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The agent's own folder."""

    @abstractmethod
    def install(self, *, dry_run: bool) -> Report:
        """
        Put everything in place, or say what would be.

        Raises:
            WriteRefused: a file of the user's was left as it is.

        """

    @abstractmethod
    def uninstall(self, *, dry_run: bool) -> Report:
        """
        Take back what was written, and our name where the agent wrote it by itself.

        Raises:
            WriteRefused: a file was left as it is; what was done before it stays done.

        """

    @abstractmethod
    def findings(self) -> Iterator[Finding]:
        """Return what `te doctor` finds of the registration with an agent that is here."""

    def is_present(self) -> bool:
        """Return whether the agent was ever used or installed here."""
        return self.folder.is_dir() or shutil.which(self.BINARY, path=self._search_path) is not None

    def version(self) -> str:
        """Return the agent's version; empty when nothing tells it."""
        # To start all five takes four seconds, to read four package files none.
        return packaged_version(self.BINARY, self._search_path) or self._printed_version()

    def _printed_version(self) -> str:
        return printed_version(self.BINARY, self._search_path).partition("\n")[0]

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version of the agent."""
        doubt = self._doubt(version)
        return [doubt] if doubt else []

    def look_at(self) -> Iterator[Finding]:
        """Return what `te doctor` finds; nothing where the agent is not here."""
        if self.is_present():
            yield from self.findings()
            if doubt := self._doubt(self.version()):
                yield warning(doubt, "see that `te status` counts its calls")

    def _doubt(self, version: str) -> str:
        doubt = self.MEASURED.doubt(version)
        return f"{self.TITLE} {doubt}" if doubt else ""

    def _user_file(self, name: str, form: Format) -> UserFile:
        """Return a file of the user's in the agent's own folder."""
        place = place_of(self.folder, name, self._agents_home)
        return UserFile(place, form, InstalledRecord(self._home.installed), self._allow_tracked)

    @property
    def _search_path(self) -> str | None:
        return self._environment.get("PATH")
