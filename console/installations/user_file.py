"""A file of the user's in which we are registered: changed, and given back, in one way for all agents."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tokeneconomizer.hosts.marketplace import PLUGIN
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.writers.edit_model import changed
from tokeneconomizer.writers.edits import Document, RemoveEmpty, RemoveMember, SetMember, same_value
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import MAX_FILE_BYTES, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokeneconomizer.console.installations.record import InstalledRecord
    from tokeneconomizer.console.installations.report import Report
    from tokeneconomizer.writers.applied import Applied
    from tokeneconomizer.writers.edits import JSON, Edit
    from tokeneconomizer.writers.guarded_write import Format

    Edits: TypeAlias = Callable[[Document], Sequence[Edit]]
    Members: TypeAlias = Iterable[tuple[tuple[str, ...], JSON]]


def place_of(folder: Path, name: str, agents_home: Path) -> Place:
    """
    Return the place of a file in an agent's folder.

    No link may lead out of the user's home, nor, where the user keeps the folder elsewhere, out of that.
    """
    if folder.is_relative_to(agents_home):
        return Place(agents_home, folder / name)
    real = Path(os.path.realpath(folder))
    # From above it, so that it is removed again where it was made for the file, with the one that holds it.
    return Place(real.parent.parent, real / name)


@dataclass(frozen=True, slots=True)
class UserFile:
    """
    A file of the user's with entries of ours in it.

    Nothing is looked at more closely than needed: where there is nothing to change, a file that may not be
    changed, or cannot be read, is no trouble.

    Attributes:
        place: where it lies.
        form: how it is read and edited.
        record: what we wrote, kept before the file is touched.
        allow_tracked: whether it may be changed although git tracks it.

    """

    place: Place
    form: Format
    record: InstalledRecord
    allow_tracked: bool

    @property
    def path(self) -> Path:
        """Its path."""
        return self.place.file

    def value(self) -> Document:
        """
        Return what is in it; an absent file is an empty one.

        Raises:
            WriteRefused: it cannot be read.

        """
        return self.form.parse(self._content().decode("utf-8", "replace"))

    def register(self, edits: Edits, report: Report, *, dry_run: bool) -> None:
        """
        Make edits that are to be taken back one day.

        Raises:
            WriteRefused: the file was left as it is.

        """
        before = self.record.get(self.path)

        def keep(applied: Applied) -> None:
            self.record.put(self.path, applied if before is None else before.then(applied))

        if self._is_to_be_changed(edits, if_unreadable=True):
            written = write_edits(self.place, edits, self.form, self._surroundings(keep, dry_run=dry_run))
            if written.written:
                report.add_changed(self.path)

    def change(self, edits: Edits, report: Report, *, dry_run: bool) -> None:
        """
        Take away what nobody will want back.

        Raises:
            WriteRefused: the file was left as it is.

        """
        if self._is_to_be_changed(edits, if_unreadable=PLUGIN.encode() in self._content()):
            surroundings = self._surroundings(dry_run=dry_run)
            if write_edits(self.place, edits, self.form, surroundings).written:
                report.add_changed(self.path)

    def take_back(
        self, by_name: Edits, report: Report, *, dry_run: bool, noted_by_agent: Edits | None = None
    ) -> None:
        """
        Take back what was registered, byte for byte where that is possible, and all that still names us.

        Args:
            by_name: what removes each entry of ours, those of another home, too.
            report: what is changed is added to it.
            dry_run: only say what would change.
            noted_by_agent: what removes that which the agent itself noted of us since.

        Raises:
            WriteRefused: the file was left as it is.

        """
        if noted_by_agent is not None:
            # First: without it the file may be as we left it.
            self.change(noted_by_agent, report, dry_run=dry_run)
        applied = self.record.get(self.path)
        if applied is not None:
            surroundings = self._surroundings(dry_run=dry_run)
            if restore(self.place, applied, self.form, surroundings).written:
                report.add_changed(self.path)
        self.change(by_name, report, dry_run=dry_run)
        if not dry_run:
            self.record.drop(self.path)

    def _content(self) -> bytes:
        return beginning_of(self.path, MAX_FILE_BYTES)

    def _is_to_be_changed(self, edits: Edits, *, if_unreadable: bool) -> bool:
        try:
            value = self.value()
        except WriteRefused:
            return if_unreadable
        try:
            return not same_value(changed(value, edits(value)), value)
        except WriteRefused:
            # The write says why.
            return True

    def _surroundings(
        self, record: Callable[[Applied], None] = keep_no_record, *, dry_run: bool
    ) -> Surroundings:
        return Surroundings(allow_tracked=self.allow_tracked, record=record, is_rehearsal=dry_run)


def setting(members: Members) -> Edits:
    """Return what sets the members."""
    return lambda _value: [SetMember(path, wanted) for path, wanted in members]


def removing(paths: Iterable[tuple[str, ...]], *, with_parents: bool = True) -> Edits:
    """Return what removes members, and the parents that they leave empty; nothing where none is there."""

    def edits(value: Document) -> list[Edit]:
        there = [path for path in paths if has_member(value, path)]
        parents = [path[:-1] for path in there if path[:-1] and with_parents]
        return [*map(RemoveMember, there), *map(RemoveEmpty, dict.fromkeys(parents))]

    return edits


def has_member(value: object, path: tuple[str, ...]) -> bool:
    """Return whether there is a member, of whatever value, where the names lead."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True
