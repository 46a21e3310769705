"""
What an edit does to a plain value: the yardstick by which every edit of a text is proved.

It also gives the edits that take an edit back when the user has changed the file since.
"""

from collections.abc import Sequence

from tokeneconomizer.writers.edits import (
    JSON,
    AddElement,
    AddMember,
    Document,
    Edit,
    Path,
    PutBack,
    RemoveElement,
    RemoveEmpty,
    RemoveMember,
    SetMember,
    SwapBack,
    TakeAway,
    same_value,
)
from tokeneconomizer.writers.errors import Reason, WriteRefused


def changed(value: Document, edits: Sequence[Edit]) -> Document:
    """Give the value after the edits; the one handed in stays as it is."""
    for edit in edits:
        value = _after(value, edit)
    return value


def undoing(value: Document, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Give the edits that take the edits back, by key, in the order in which they are to run."""
    backwards: list[Edit] = []
    for edit in edits:
        backwards[:0] = _undoing_one(value, edit)
        value = _after(value, edit)
    return tuple(backwards)


def blocked(edit: Edit) -> WriteRefused:
    """Make the refusal of an edit whose way leads through a value of another kind."""
    place = ".".join(edit.path)
    wanted = "an array" if isinstance(edit, AddElement) else "objects"
    return WriteRefused(Reason.UNPROVEN_EDIT, f"what stands on the way to {place} is not {wanted}")


def last_index_of(elements: Sequence[JSON], value: JSON) -> int | None:
    """Find the last element that means the same as the value."""
    found = [index for index, element in enumerate(elements) if same_value(element, value)]
    return found[-1] if found else None


def _after(value: Document, edit: Edit) -> Document:
    if not _applies(value, edit):
        return value
    match edit:
        case SetMember(path, new) | AddMember(path, new) | PutBack(path, new) | SwapBack(path, _, new):
            return _set(value, path, new, edit)
        case AddElement(path):
            return _set(value, path, _with_element(value, edit), edit)
        case RemoveElement(path):
            return _set(value, path, _without_element(value, edit), edit)
        case RemoveMember() | RemoveEmpty() | TakeAway():
            return _removed(value, edit)


def _applies(value: Document, edit: Edit) -> bool:
    """Tell whether the edit has something to work on; adding always has."""
    there, old = _exists(value, edit.path), _member(value, edit.path)
    match edit:
        case SetMember() | AddElement():
            return True
        case AddMember():
            return not there
        case PutBack(path):
            return not there and isinstance(_member(value, path[:-1]), dict)
        case RemoveElement(_, gone):
            return isinstance(old, list) and last_index_of(old, gone) is not None
        case _:
            return there and _is_as_left(old, edit)


def _is_as_left(old: JSON, edit: Edit) -> bool:
    """Tell whether a member that is to go, or to give way, is still what the edit was made for."""
    match edit:
        case SwapBack(_, ours) | TakeAway(_, ours):
            return same_value(old, ours)
        case RemoveEmpty():
            return old in ({}, [])
        case _:
            return True


def _undoing_one(value: Document, edit: Edit) -> list[Edit]:
    path = edit.path
    there, old = _exists(value, path), _member(value, path)
    if not _applies(value, edit):
        return []
    match edit:
        case AddElement(_, new):
            made = [RemoveElement(path, new), *_made_parents(value, path)]
            return [] if isinstance(old, list) and last_index_of(old, new) is not None else made
        case SetMember(_, new) | AddMember(_, new) | PutBack(_, new) | SwapBack(_, _, new):
            if there:
                return [] if same_value(old, new) else [SwapBack(path, new, old)]
            gone = TakeAway(path, new) if isinstance(edit, AddMember) else RemoveMember(path)
            return [gone, *_made_parents(value, path[:-1])]
        case RemoveElement(_, gone):
            return [AddElement(path, gone)]
        case RemoveMember() | RemoveEmpty() | TakeAway():
            return [PutBack(path, old)]


def _made_parents(value: Document, path: Path) -> list[Edit]:
    """Name the containers that an edit has to make, the innermost first."""
    ways = [path[:length] for length in range(len(path), 0, -1)]
    return [RemoveEmpty(way) for way in ways if not _exists(value, way)]


def _exists(value: Document, path: Path) -> bool:
    parent = _member(value, path[:-1])
    return isinstance(parent, dict) and path[-1] in parent


def _member(value: JSON, path: Path) -> JSON:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _set(value: Document, path: Path, new: JSON, edit: Edit) -> Document:
    root, parent = _copied_down_to(value, path[:-1], edit)
    # Members in another order are the same value: then the one that is there stays.
    if path[-1] not in parent or not same_value(parent[path[-1]], new):
        parent[path[-1]] = new
    return root


def _removed(value: Document, edit: RemoveMember | RemoveEmpty | TakeAway) -> Document:
    root, parent = _copied_down_to(value, edit.path[:-1], edit)
    del parent[edit.path[-1]]
    return root


def _copied_down_to(value: Document, path: Path, edit: Edit) -> tuple[Document, Document]:
    """Copy the objects along the path, so that the value handed in is never changed; make missing ones."""
    root = parent = dict(value)
    for key in path:
        child = parent.get(key, {})
        if not isinstance(child, dict):
            raise blocked(edit)
        parent[key] = child = dict(child)
        parent = child
    return root, parent


def _with_element(value: Document, edit: AddElement) -> JSON:
    old = _member(value, edit.path) if _exists(value, edit.path) else []
    if not isinstance(old, list):
        raise blocked(edit)
    return old if last_index_of(old, edit.value) is not None else [*old, edit.value]


def _without_element(value: Document, edit: RemoveElement) -> JSON:
    old = _member(value, edit.path)
    index = last_index_of(old, edit.value) if isinstance(old, list) else None
    if not isinstance(old, list) or index is None:
        return old
    return [*old[:index], *old[index + 1 :]]
