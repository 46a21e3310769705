"""
Edits as values, independent of any file format, with the form in which they are stored.

A path is the keys from the top of the document down to a member, never empty.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from tokeneconomizer.writers.errors import BrokenUndoRecord

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
Document: TypeAlias = dict[str, JSON]
Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    """What all edits have: the place."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path:
            message = "an edit needs the path of a member: the document itself is never replaced"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class SetMember(_Edit):
    """Give the member this value; it and missing parent objects are added."""

    value: JSON


@dataclass(frozen=True, slots=True)
class AddMember(_Edit):
    """Add the member with this value, unless the user has set it to whatever; missing parents are added."""

    value: JSON


@dataclass(frozen=True, slots=True)
class TakeAway(_Edit):
    """Undo an addition: remove the member, unless the user has changed it since."""

    value: JSON


@dataclass(frozen=True, slots=True)
class RemoveMember(_Edit):
    """Take the member away, if it is there."""


@dataclass(frozen=True, slots=True)
class AddElement(_Edit):
    """Append the value to the array at the path, unless it is in it; a missing array is added."""

    value: JSON


@dataclass(frozen=True, slots=True)
class RemoveElement(_Edit):
    """Take the last element that equals the value from the array at the path, if it is there."""

    value: JSON


@dataclass(frozen=True, slots=True)
class PutBack(_Edit):
    """Undo a removal: add the member, unless the user has set it again or removed its parent."""

    value: JSON


@dataclass(frozen=True, slots=True)
class SwapBack(_Edit):
    """Undo a replacement: set the old value, unless the user has changed ours since."""

    ours: JSON
    value: JSON


@dataclass(frozen=True, slots=True)
class RemoveEmpty(_Edit):
    """Undo the making of a parent: take it away if nothing is left in it."""


Edit: TypeAlias = (
    SetMember
    | AddMember
    | TakeAway
    | RemoveMember
    | AddElement
    | RemoveElement
    | PutBack
    | SwapBack
    | RemoveEmpty
)

_KINDS: Final[Mapping[str, type[Edit]]] = MappingProxyType(
    {
        "set_member": SetMember,
        "add_member": AddMember,
        "take_away": TakeAway,
        "remove_member": RemoveMember,
        "add_element": AddElement,
        "remove_element": RemoveElement,
        "put_back": PutBack,
        "swap_back": SwapBack,
        "remove_empty": RemoveEmpty,
    },
)
_NAMES: Final = MappingProxyType({kind: name for name, kind in _KINDS.items()})


def same_value(left: JSON, right: JSON) -> bool:
    """
    Tell whether two values mean the same to an agent.

    The order of members does not count; 1, 1.0 and true are three values, other than for `==`.
    """
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def edit_to_json(edit: Edit) -> Document:
    """Give the edit in the form in which it is stored."""
    stored: Document = {"edit": _NAMES[type(edit)], "path": list(edit.path)}
    if not isinstance(edit, RemoveMember | RemoveEmpty):
        stored["value"] = edit.value
    if isinstance(edit, SwapBack):
        stored["ours"] = edit.ours
    return stored


def edit_from_json(stored: JSON) -> Edit:
    """Read an edit from its stored form."""
    fields = dict(stored) if isinstance(stored, dict) else {}
    name, path = fields.pop("edit", None), fields.pop("path", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    keys = tuple(key for key in path if isinstance(key, str)) if isinstance(path, list) else ()
    if kind is None or list(keys) != path:
        what = "an edit lacks its kind or its path"
        raise BrokenUndoRecord(what)
    try:
        return kind(keys, **fields)
    except (TypeError, ValueError) as error:
        what = "an edit has the wrong fields"
        raise BrokenUndoRecord(what) from error
