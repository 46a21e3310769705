"""A change of a text at one place, which can be made and taken back exactly."""

from collections.abc import Iterable
from dataclasses import dataclass

from tokeneconomizer.writers.errors import BrokenUndoRecord


@dataclass(frozen=True, slots=True)
class Splice:
    """At the offset, in characters, `removed` gave way to `inserted`."""

    offset: int
    removed: str
    inserted: str

    def make(self, text: str) -> str:
        """Give the text after the change."""
        return self._exchange(text, self.removed, self.inserted)

    def take_back(self, text: str) -> str:
        """Give the text before the change."""
        return self._exchange(text, self.inserted, self.removed)

    def _exchange(self, text: str, old: str, new: str) -> str:
        if not text.startswith(old, self.offset):
            what = "the text at an offset is not the one that was written there"
            raise BrokenUndoRecord(what)
        return text[: self.offset] + new + text[self.offset + len(old) :]


def make_all(text: str, splices: Iterable[Splice]) -> str:
    """Make the changes one after the other; each counts its offset in the text that the last one left."""
    for splice in splices:
        text = splice.make(text)
    return text


def take_back_all(text: str, splices: Iterable[Splice]) -> str:
    """Take the changes back, the last one first."""
    for splice in reversed(tuple(splices)):
        text = splice.take_back(text)
    return text
