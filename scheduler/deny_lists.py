"""
Writing a deny list into an agent's own file in a checkout, and taking exactly that back.

The record of a write is stored before the file is touched; one process at a time does either.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.commands import Place as RepositoryPlace
from tokeneconomizer.domain.deny_list import (
    Circumstances,
    ListedName,
    ShorterList,
    SwitchedOff,
    Unlisted,
    member,
)
from tokeneconomizer.hosts.pruning import PI_USER_SETTINGS, TARGETS, TRUST, agent_file
from tokeneconomizer.hosts.recognise import CLAUDE_CODE, CODEX, PI
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.places import common_git_folder, main_checkout, place_of
from tokeneconomizer.scheduler.untool_record import Untooled, UntoolRecord
from tokeneconomizer.writers.applied import Applied
from tokeneconomizer.writers.edits import AddElement, AddMember, RemoveElement, SetMember
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.git_tracking import git_ignores
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import MAX_FILE_BYTES, Place
from tokeneconomizer.writers.ignore_lines import PATTERNS, IgnoreLines
from tokeneconomizer.writers.strict_json import STRICT_JSON
from tokeneconomizer.writers.toml import Toml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.domain.deny_list import Denial, DenyTarget, Document
    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.edits import JSON, Edit
    from tokeneconomizer.writers.guarded_write import Format

GIT_LIST = "info/exclude"
"""In the git folder that all worktrees share."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the file was left as it was."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a write or of taking it back."""

    written: bool
    file: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: Refused | None = None


class DenyList:
    """
    The deny list of one agent in one checkout.

    Args:
        home: our home.
        homes: where the agents' own files are.
        host: the agent.
        checkout: the checkout's folder.
        agent_version: of the agent, empty when unknown.

    """

    def __init__(
        self, home: Home, homes: AgentHomes, host: str, checkout: Path, agent_version: str = ""
    ) -> None:
        self._home = home
        self._homes = homes
        self.host = host
        self._checkout = checkout.resolve()
        self._target: DenyTarget = TARGETS[host]
        self._version = agent_version
        self._record = UntoolRecord(home, host)
        self._form = _format_of(host, self._target)
        self._place = Place(self._checkout, self._checkout / self._target.file)

    @property
    def file(self) -> str:
        """The agent's file."""
        return str(self._place.file)

    @property
    def name(self) -> str:
        """The agent's file as seen from the checkout."""
        return self._target.file

    @property
    def place(self) -> RepositoryPlace:
        """The checkout, and the repository that it belongs to."""
        return RepositoryPlace(self._identity(), str(self._checkout))

    def apply(self, names: Sequence[str], *, allow_tracked: bool = False) -> Answer:
        """Deny these names, as far as they are not denied yet."""
        return self._answer(lambda: self._apply(list(dict.fromkeys(names)), allow_tracked=allow_tracked))

    def restore(self) -> Answer:
        """Take back exactly what was written; what the user changed since is the user's."""
        return self._answer(self._restore)

    def is_written(self) -> bool:
        """Return whether something was written and not taken back."""
        return self._record.get(str(self._checkout)) is not None

    def _answer(self, act: Callable[[], Answer]) -> Answer:
        self._home.create()
        with held(self._home.prune_lock, attempts=None):
            try:
                return act()
            except WriteRefused as refused:
                return Answer(
                    written=False, file=self.file, refused=Refused(str(refused.reason), refused.detail)
                )

    def _apply(self, names: list[str], *, allow_tracked: bool) -> Answer:
        self._check_names(names)
        self._check_trust()
        circumstances = self._circumstances()
        before = self._record.get(str(self._checkout))
        added: list[str] = []

        def choose(document: dict[str, JSON]) -> list[Edit]:
            denials = self._target.denials(document, names, circumstances)
            added[:] = [denial.name for denial in denials]
            edits = _edits(denials, document)
            # Else the agent changes what we made, and nothing can be taken back byte for byte.
            begins = self._target.begins.items() if edits and not document else ()
            return [*(AddMember((name,), value) for name, value in begins), *edits]

        def keep(applied: Applied) -> None:
            self._keep(before, added, applied, allow_tracked=allow_tracked)

        surroundings = Surroundings(allow_tracked=allow_tracked, record=keep)
        try:
            outcome = write_edits(self._place, choose, self._form, surroundings)
        except WriteRefused:
            self._keep_as_before(before)
            raise
        if outcome.applied is not None and outcome.applied.created_file:
            self._hide_from_git()
        return Answer(outcome.written, self.file, added=tuple(added) if outcome.written else ())

    def _restore(self) -> Answer:
        untooled = self._record.get(str(self._checkout))
        if untooled is None:
            return Answer(written=False, file=self.file)
        surroundings = Surroundings(allow_tracked=untooled.allow_tracked)
        before = self.in_force(untooled.names)
        outcome = restore(self._place, Applied.from_json(untooled.applied), self._form, surroundings)
        self._show_to_git(untooled)
        self._record.drop(str(self._checkout))
        left = set(self.in_force(untooled.names))
        return Answer(outcome.written, self.file, removed=tuple(name for name in before if name not in left))

    def _check_names(self, names: Sequence[str]) -> None:
        unknown = [name for name in names if self._target.closed and name not in self._target.closed]
        if unknown:
            known = ", ".join(sorted(self._target.closed))
            message = f"{self.host} has no {', '.join(unknown)}, only {known}"
            raise WriteRefused(Reason.UNKNOWN_NAME, message)

    def _check_trust(self) -> None:
        if self.host not in TRUST:
            return
        name, is_trusted = TRUST[self.host]
        file = agent_file(self.host, self._homes, name)
        folders = {str(self._checkout), str(main_checkout(self._checkout))}
        if not is_trusted(beginning_of(file, MAX_FILE_BYTES), folders):
            message = f"{file} does not trust {self._checkout}, so that the agent would not read its settings"
            raise WriteRefused(Reason.UNTRUSTED, message)

    def _circumstances(self) -> Circumstances:
        inherited: Path | None = None
        if self.host == PI:
            inherited = agent_file(PI, self._homes, PI_USER_SETTINGS)
        elif self.host == CLAUDE_CODE and main_checkout(self._checkout) != self._checkout:
            inherited = main_checkout(self._checkout) / self._target.file
        if inherited is None:
            return Circumstances(self._version)
        return Circumstances(self._version, _json_object(beginning_of(inherited, MAX_FILE_BYTES)))

    def in_force(self, names: Sequence[str]) -> list[str]:
        """Return the names for which nothing is left to write; none where the file cannot be read."""
        document: Document = {}
        with suppress(WriteRefused, UnicodeDecodeError):
            document = self._form.parse(beginning_of(self._place.file, MAX_FILE_BYTES).decode())
        missing = {denial.name for denial in self._target.denials(document, names, self._circumstances())}
        return [name for name in names if name not in missing]

    def _keep(
        self, before: Untooled | None, added: Sequence[str], applied: Applied, *, allow_tracked: bool
    ) -> None:
        names, exclude = list(added), ""
        if before is not None:
            names = list(dict.fromkeys([*before.names, *added]))
            applied = Applied.from_json(before.applied).then(applied)
            exclude, allow_tracked = before.exclude, allow_tracked or before.allow_tracked
        self._put(Untooled(self.file, names, applied.to_json(), exclude, allow_tracked))

    def _keep_as_before(self, before: Untooled | None) -> None:
        if before is None:
            self._record.drop(str(self._checkout))
        else:
            self._put(before)

    def _put(self, untooled: Untooled) -> None:
        self._record.put(self._identity(), str(self._checkout), untooled)

    def _identity(self) -> str:
        return place_of(str(self._checkout), str(self._homes.home)).repository

    def _git_list(self) -> Place | None:
        common = common_git_folder(Path(place_of(str(self._checkout), str(self._homes.home)).checkout))
        return None if common is None else Place(common, common / GIT_LIST)

    def _hide_from_git(self) -> None:
        """Keep a file that we made out of git's sight; that it cannot be done is no reason to stop."""
        place = self._git_list()
        untooled = self._record.get(str(self._checkout))
        if place is None or untooled is None or git_ignores(self._place.file):
            return
        top = place_of(str(self._checkout), str(self._homes.home)).checkout
        pattern = f"/{self._place.file.relative_to(top).as_posix()}"

        def keep(applied: Applied) -> None:
            self._put(msgspec.structs.replace(untooled, exclude=applied.to_json()))

        with suppress(WriteRefused):
            write_edits(place, [AddElement(PATTERNS, pattern)], IgnoreLines(), _in_git(keep))

    def _show_to_git(self, untooled: Untooled) -> None:
        place = self._git_list()
        if place is None or not untooled.exclude:
            return
        with suppress(WriteRefused):
            restore(place, Applied.from_json(untooled.exclude), IgnoreLines(), _in_git())


def _format_of(host: str, target: DenyTarget) -> Format:
    return Toml(target.mark, target.problem) if host == CODEX else STRICT_JSON


def _edits(denials: Sequence[Denial], document: Document) -> list[Edit]:
    edits: list[Edit] = []
    for denial in denials:
        match denial:
            case ListedName(_, path, element):
                edits.append(AddElement(path, element))
            case SwitchedOff(_, path):
                edits.append(AddMember(path, value=False))
            case Unlisted(name, path):
                edits.append(RemoveElement(path, name))
            case ShorterList(_, path, rest):
                # Each of them holds the whole list.
                kind = AddMember if member(document, path) is None else SetMember
                edits = [kind(path, list(rest))]
    return edits


def _json_object(data: bytes) -> Document | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _in_git(record: Callable[[Applied], None] = keep_no_record) -> Surroundings:
    """Git tracks nothing of its own folder."""
    return Surroundings(is_tracked=lambda _file: False, record=record)
