"""On which versions of an agent that was seen to work which we say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Measured:
    """
    The versions that were run.

    Attributes:
        oldest: the oldest one.
        newest: the beginning of the newest for which it holds; empty where newer ones are taken to be alike.
        lost: what an older one does not do, as far as that is known.

    """

    oldest: tuple[int, int, int]
    newest: tuple[int, ...] = ()
    lost: str = ""

    def doubt(self, printed: str) -> str:
        """Return what to doubt of the version that an agent printed; empty where it tells none."""
        found = _VERSION.search(printed)
        if found is None:
            return ""
        numbers = tuple(int(part) for part in found.groups())
        if numbers < self.oldest:
            lost = f" ({self.lost})" if self.lost else ""
            return f"{found.group()} is older than {_dotted(self.oldest)}, the oldest that was tried{lost}"
        if numbers[: len(self.newest)] > self.newest:
            return f"{found.group()} is newer than {_dotted(self.newest)}, the newest that was tried"
        return ""


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers)) + ("" if len(numbers) == len(("major", "minor", "patch")) else ".x")
