"""
The one way in which a file of the user's is changed: guard, parse, edit, prove, replace.

A format supplies parsing and editing alone. Nothing is written before the edit is proved on the values,
and the rename happens only if the file is still the one that was read.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from tokeneconomizer.writers.applied import Applied, digest
from tokeneconomizer.writers.edit_model import changed, undoing
from tokeneconomizer.writers.edits import Document, Edit
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.folders import Folder
from tokeneconomizer.writers.git_tracking import git_tracks
from tokeneconomizer.writers.guards import Found, Place, look, opened_root, refusing_os_errors
from tokeneconomizer.writers.replacing import ChangedMeanwhile, put, remove_stale, take_away
from tokeneconomizer.writers.splices import Splice, make_all, take_back_all
from tokeneconomizer.writers.whole_file import REAL_DISK, Disk, Rights

KILL_POINTS: Final = (
    "guarded",
    "proved",
    "recorded",
    "folders_made",
    "temporary_opened",
    "temporary_synced",
    "compared",
    "replaced",
    "folder_synced",
)
"""Where a test ends the program: at each of them the old or the new file is there whole."""

MAX_ATTEMPTS: Final = 2
"""A file that changed while it was read is read once more; after that something keeps writing it."""
NEW_FILE_MODE: Final = 0o644
NEW_FOLDER_MODE: Final = 0o755
"""Both less the umask, as the agents make them."""


class Format(Protocol):
    """What a file format supplies."""

    def parse(self, text: str) -> Document:
        """Give the value as the file's agent reads it, or refuse."""

    def edit(self, text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
        """Give the splices that make the edits, or refuse."""

    def proves(self, value: Document, wanted: Document, edits: Sequence[Edit]) -> bool:
        """Tell whether the edited text's value is the wanted one, in nothing else than the edits say."""

    def is_empty(self, text: str) -> bool:
        """Tell whether nothing of anybody's is left in the text, so that the file may go."""


def look_no_more() -> None:
    """Stand in for a last look."""


def keep_no_record(_applied: Applied) -> None:
    """Stand in for a store."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a write needs from outside of the file."""

    is_tracked: Callable[[Path], bool] = git_tracks
    allow_tracked: bool = False
    record: Callable[[Applied], None] = keep_no_record
    """Stores the record before the file is touched, so that a kill cannot part the two."""
    last_look: Callable[[], None] = look_no_more
    """Comes right before the file is touched, and may still refuse."""
    disk: Disk = REAL_DISK
    is_rehearsal: bool = False
    """Looks, plans and proves as ever, and touches nothing."""


USUAL: Final = Surroundings()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a write, or would; only an edit that changed something has `applied`."""

    written: bool
    file: Path
    applied: Applied | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done to the file: its new bytes, or None for its removal."""

    data: bytes | None
    applied: Applied | None = None
    folders_to_remove: int = 0


def write_edits(
    place: Place,
    edits: Sequence[Edit] | Callable[[Document], Sequence[Edit]],
    form: Format,
    surroundings: Surroundings = USUAL,
) -> Outcome:
    """
    Make the edits in the file; it and its folders are made if they are missing.

    Edits that depend on what is in the file are given as a function of its value.
    """
    choose = edits if callable(edits) else lambda _value: edits
    return _five_steps(place, lambda found: _plan_edits(found, choose, form), surroundings)


def restore(place: Place, applied: Applied, form: Format, surroundings: Surroundings = USUAL) -> Outcome:
    """Take a write back: byte for byte if the file is as we left it, else our entries alone."""
    return _five_steps(place, lambda found: _plan_restore(found, applied, form), surroundings)


def _five_steps(place: Place, make_plan: Callable[[Found], _Plan], surroundings: Surroundings) -> Outcome:
    with opened_root(place) as root:
        for _ in range(MAX_ATTEMPTS):
            with suppress(ChangedMeanwhile), look(place, root) as found:
                return _one_attempt(place, root, found, make_plan, surroundings)
    message = f"{place.file} changed while it was being edited, twice"
    raise WriteRefused(Reason.CHANGED_MEANWHILE, message)


def _one_attempt(
    place: Place,
    root: Folder,
    found: Found,
    make_plan: Callable[[Found], _Plan],
    surroundings: Surroundings,
) -> Outcome:
    checkpoint = surroundings.disk.checkpoint
    _check_tracked(found.path, surroundings)
    if not surroundings.is_rehearsal:
        # Also where nothing is to be written: a killed writer may have come as far as that.
        remove_stale(found.folder, found.path.name)
    checkpoint("guarded")
    with _naming(found.path):
        plan = make_plan(found)
    if surroundings.is_rehearsal:
        return Outcome(plan.data != found.data, found.path)
    checkpoint("proved")
    if plan.applied is not None:
        surroundings.record(plan.applied)
    checkpoint("recorded")
    if plan.data != found.data:
        surroundings.last_look()
        _replace(place, root, found, plan.data, surroundings.disk)
    _remove_folders(place, root, found.path, plan.folders_to_remove)
    checkpoint("folder_synced")
    return Outcome(plan.data != found.data, found.path, plan.applied)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say in which file something was found wrong."""
    try:
        yield
    except WriteRefused as refused:
        message = f"{path}: {refused.detail}"
        raise WriteRefused(refused.reason, message) from refused


def _check_tracked(path: Path, surroundings: Surroundings) -> None:
    if not surroundings.allow_tracked and surroundings.is_tracked(path):
        message = f"{path} is tracked by git, or git could not say that it is not"
        raise WriteRefused(Reason.TRACKED, message)


def _plan_edits(found: Found, choose: Callable[[Document], Sequence[Edit]], form: Format) -> _Plan:
    text = _text(found)
    value = form.parse(text)
    edits = choose(value)
    splices = form.edit(text, edits)
    new = make_all(text, splices)
    _prove(form, new, changed(value, edits), edits)
    data = new.encode()
    if new == text:
        return _Plan(found.data)
    folders = len(found.missing)
    applied = Applied(splices, undoing(value, edits), digest(found.data), digest(data), folders)
    return _Plan(data, applied)


def _plan_restore(found: Found, applied: Applied, form: Format) -> _Plan:
    folders = applied.created_folders
    if found.data is None or digest(found.data) == applied.sha256_before:
        return _Plan(found.data, folders_to_remove=folders if found.data is None else 0)
    text = _text(found)
    if digest(found.data) == applied.sha256_after:
        data = None if applied.created_file else take_back_all(text, applied.splices).encode()
        if digest(data) != applied.sha256_before:
            message = "taking back what was written does not give the old bytes"
            raise WriteRefused(Reason.UNPROVEN_EDIT, message)
        return _Plan(data, folders_to_remove=folders)
    wanted = changed(form.parse(text), applied.undo)
    new = make_all(text, form.edit(text, applied.undo))
    _prove(form, new, wanted, applied.undo)
    ours_alone = applied.created_file and form.is_empty(new)
    return _Plan(None if ours_alone else new.encode(), folders_to_remove=folders)


def _text(found: Found) -> str:
    try:
        return (found.data or b"").decode()
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
        raise WriteRefused(Reason.NOT_PARSABLE, message) from error


def _prove(form: Format, new: str, wanted: Document, edits: Sequence[Edit]) -> None:
    try:
        proved = form.proves(form.parse(new), wanted, edits)
    except WriteRefused:
        proved = False
    if not proved:
        message = "the edited text, read back, is not the old value plus our change"
        raise WriteRefused(Reason.UNPROVEN_EDIT, message)


def _replace(place: Place, root: Folder, found: Found, data: bytes | None, disk: Disk) -> None:
    def is_read(folder: Folder, name: str) -> bool:
        if name != found.path.name:
            return found.is_under(folder, name)
        with look(place, root) as now:
            return now.same_as(found)

    with refusing_os_errors(found.path), ExitStack() as opened:
        if data is None:
            take_away(found.folder, found.path.name, disk, is_read)
            return
        made: list[tuple[Folder, str]] = []
        try:
            folder = _make_folders(found, opened, made)
            disk.checkpoint("folders_made")
            if found.status is None:
                put(folder, found.path.name, data, Rights(NEW_FILE_MODE), disk, None)
            else:
                put(folder, found.path.name, data, Rights.like(found.status, found.attributes), disk, is_read)
        except BaseException:
            _remove_empty(made)
            raise


def _make_folders(found: Found, opened: ExitStack, made: list[tuple[Folder, str]]) -> Folder:
    """Make what is missing on the way, and tell of each, with the folder that holds it."""
    folder = found.folder
    for name in found.missing:
        try:
            os.mkdir(name, NEW_FOLDER_MODE, dir_fd=folder.descriptor)
            made.append((folder, name))
            folder = opened.enter_context(folder.folder(name))
        except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:
            raise ChangedMeanwhile from error
    return folder


def _remove_folders(place: Place, root: Folder, path: Path, count: int) -> None:
    """Remove the folders that were made for the file, as far as nothing else is in them."""
    names = path.relative_to(place.real_root).parts[:-1]
    with suppress(OSError), ExitStack() as opened:
        holders = [root]
        for name in names[:-1]:
            holders.append(opened.enter_context(holders[-1].folder(name)))
        _remove_empty(list(zip(holders, names, strict=False))[max(0, len(names) - count) :])


def _remove_empty(folders: Sequence[tuple[Folder, str]]) -> None:
    """Remove folders below the ones that hold them, the innermost first, until one is not empty."""
    with suppress(OSError):
        for holder, name in reversed(folders):
            os.rmdir(name, dir_fd=holder.descriptor)
