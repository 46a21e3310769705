"""`untool_applied.json`: what was written into each checkout, so that exactly that can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.domain.identity import safe_folder_name
from tokeneconomizer.writers.whole_file import make_own_folder, write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

FILE = "untool_applied.json"


class Untooled(msgspec.Struct):
    """
    What was written into one checkout.

    Attributes:
        file: the agent's file.
        names: the names that were denied.
        applied: the record of the write, as `writers.applied` stores it.
        exclude: the record of the line in git's own list of ignored files, or empty.
        allow_tracked: whether the user allowed the change of a file that git tracks.

    """

    file: str
    names: list[str]
    applied: str
    exclude: str = ""
    allow_tracked: bool = False


class UntoolRecord:
    """
    The records of one agent; a checkout's is found also when its repository has got another identity.

    Args:
        home: our home.
        host: the agent.

    """

    def __init__(self, home: Home, host: str) -> None:
        self._home = home
        self._host = host

    def get(self, checkout: str) -> Untooled | None:
        """Return what was written into a checkout, or None."""
        return next((stored[checkout] for _, stored in self._all() if checkout in stored), None)

    def put(self, identity: str, checkout: str, untooled: Untooled) -> None:
        """Keep what was written into a checkout of the repository."""
        file = self._home.root / "repos" / safe_folder_name(identity) / self._host / FILE
        self.drop(checkout)
        make_own_folder(file.parent)
        self._write(file, {**_read(file), checkout: untooled})

    def drop(self, checkout: str) -> None:
        """Forget a checkout."""
        for file, stored in self._all():
            if stored.pop(checkout, None) is not None:
                self._write(file, stored)

    def _all(self) -> list[tuple[Path, dict[str, Untooled]]]:
        files = sorted(self._home.root.glob(f"repos/*/{self._host}/{FILE}"))
        return [(file, _read(file)) for file in files]

    @staticmethod
    def _write(file: Path, stored: dict[str, Untooled]) -> None:
        write_whole(file, msgspec.json.format(msgspec.json.encode(stored), indent=2) + b"\n")


def _read(file: Path) -> dict[str, Untooled]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Untooled])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        message = f"{file} is broken ({error}): take back by hand what was denied, then remove it"
        raise TokeneconomizerError(message) from error
