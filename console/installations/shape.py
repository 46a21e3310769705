"""What every agent's installation offers; `table.INSTALLATIONS` names them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding, Patient
    from tokeneconomizer.console.installations.report import Report
    from tokeneconomizer.scheduler.home import Home


class Installation(Protocol):
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

    def __init__(
        self, home: Home, agents_home: Path, environment: Mapping[str, str], *, allow_tracked: bool = False
    ) -> None:
        """Take what the class says; nothing is read yet."""
        ...

    def is_present(self) -> bool:
        """Return whether the agent was ever used or installed here."""
        ...

    def version(self) -> str:
        """Return what the agent says its version is; empty when it cannot be asked."""
        ...

    def install(self, *, dry_run: bool) -> Report:
        """
        Put everything in place, or say what would be.

        Raises:
            WriteRefused: a file of the user's was left as it is.

        """
        ...

    def uninstall(self, *, dry_run: bool) -> Report:
        """
        Take back what was written, and our name where the agent wrote it by itself.

        Raises:
            WriteRefused: a file was left as it is; what was done before it stays done.

        """
        ...

    def notes(self, version: str) -> list[str]:
        """Return what the user should know of this version of the agent."""
        ...

    def look_at(self, patient: Patient) -> Iterator[Finding]:
        """Return what `te doctor` finds of the registration; nothing where the agent is not here."""
        ...
