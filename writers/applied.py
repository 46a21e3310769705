"""The record of one write: enough to take it back byte for byte, or by key if the user went on."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tokeneconomizer.writers.edits import JSON, Edit, edit_from_json, edit_to_json
from tokeneconomizer.writers.errors import BrokenUndoRecord
from tokeneconomizer.writers.splices import Splice


def digest(data: bytes | None) -> str:
    """Give the SHA-256 of a file's bytes; an empty string where there is no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done to a file. Without splices it can only be taken back by key."""

    splices: tuple[Splice, ...]
    undo: tuple[Edit, ...]
    """The edits that take it back, in the order in which they are to run."""
    sha256_before: str
    """Empty where the file was made by the write."""
    sha256_after: str
    created_folders: int = 0
    """How many folders right above the file were made for it."""

    @property
    def created_file(self) -> bool:
        """Tell whether there was no file before."""
        return not self.sha256_before

    def then(self, later: "Applied") -> "Applied":
        """Give the record of this write and a later one of the same file as one."""
        folders = max(self.created_folders, later.created_folders)
        if later.created_file or later.sha256_before == self.sha256_before:
            # Our first write is gone: the user deleted or undid it, or a kill prevented it.
            return replace(later, created_folders=folders)
        unbroken = self.sha256_after == later.sha256_before
        return Applied(
            self.splices + later.splices if unbroken else (),
            later.undo + self.undo,
            self.sha256_before,
            # If the user changed the file in between, no state of it can be spliced back.
            later.sha256_after if unbroken else "",
            folders,
        )

    def to_json(self) -> str:
        """Give the record as canonical JSON text."""
        record: dict[str, JSON] = {
            "splices": [[splice.offset, splice.removed, splice.inserted] for splice in self.splices],
            "undo": [edit_to_json(edit) for edit in self.undo],
            "sha256_before": self.sha256_before,
            "sha256_after": self.sha256_after,
            "created_folders": self.created_folders,
        }
        return json.dumps(record, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Applied":
        """Read a record back."""
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            what = "it is not JSON"
            raise BrokenUndoRecord(what) from error
        if not isinstance(record, dict):
            what = "it is not an object"
            raise BrokenUndoRecord(what)
        return cls(
            tuple(_splice(splice) for splice in _list(record, "splices")),
            tuple(edit_from_json(edit) for edit in _list(record, "undo")),
            _text(record, "sha256_before"),
            _text(record, "sha256_after"),
            _count(record, "created_folders"),
        )


def _splice(stored: JSON) -> Splice:
    match stored:
        case [int(offset), str(removed), str(inserted)] if offset >= 0:
            return Splice(offset, removed, inserted)
        case _:
            what = "a splice is not an offset and two texts"
            raise BrokenUndoRecord(what)


def _list(record: Mapping[str, JSON], key: str) -> list[JSON]:
    value = record.get(key)
    if not isinstance(value, list):
        raise _wrong(key)
    return value


def _text(record: Mapping[str, JSON], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise _wrong(key)
    return value


def _count(record: Mapping[str, JSON], key: str) -> int:
    value = record.get(key)
    if not isinstance(value, int) or value < 0:
        raise _wrong(key)
    return value


def _wrong(key: str) -> BrokenUndoRecord:
    return BrokenUndoRecord(f"{key} is missing or of another kind")
