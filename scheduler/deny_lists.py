"""
Writing a deny list into an agent's own file in a checkout, and taking exactly that back.

The record of a write is stored before the file is touched; one process at a time does either.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.commands import Place as RepositoryPlace
from tokeneconomizer.domain.commented_json import document_of
from tokeneconomizer.domain.deny_list import (
    Circumstances,
    ListedName,
    ShorterList,
    SwitchedOff,
    Unlisted,
    member,
    texts,
)
from tokeneconomizer.hosts.pruning import (
    OPENCODE_SECOND_FILE,
    READ_WHERE_TRUSTED,
    TARGETS,
    pi_user_settings,
)
from tokeneconomizer.hosts.recognise import CLAUDE_CODE, CODEX, OPENCODE, PI
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.scheduler import git_list
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.places import main_checkout, place_of
from tokeneconomizer.scheduler.untool_record import Untooled, UntoolRecord
from tokeneconomizer.writers.applied import Applied
from tokeneconomizer.writers.edits import AddElement, AddMember, RemoveElement, SetMember
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.guarded_write import (
    Surroundings,
    look_no_more,
    restore,
    write_edits,
)
from tokeneconomizer.writers.guards import MAX_FILE_BYTES, Place, refusing_os_errors
from tokeneconomizer.writers.strict_json import STRICT_JSON
from tokeneconomizer.writers.toml import Toml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.domain.deny_list import Denial, DenyTarget, Document
    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.writers.edits import JSON, Edit
    from tokeneconomizer.writers.guarded_write import Format


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the file was left as it was."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What became of a write or of taking it back.

    Attributes:
        given_up: the names that are ours no more after taking back, also those that the user took away.
        git_list_refused: why git's own list of ignored files was left as it was, though it had to be changed.

    """

    written: bool
    file: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: Refused | None = None
    given_up: tuple[str, ...] = ()
    git_list_refused: Refused | None = None

    def to_json(self) -> dict[str, object]:
        """Return what the commands print."""
        printed = ("written", "file", "added", "removed", "refused")
        return {name: value for name, value in asdict(self).items() if name in printed}


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

    def apply(
        self,
        names: Sequence[str],
        *,
        allow_tracked: bool = False,
        last_look: Callable[[], None] = look_no_more,
    ) -> Answer:
        """Deny these names, as far as they are not denied yet; the last look may still refuse."""
        names = list(dict.fromkeys(names))
        return self._answer(lambda: self._apply(names, last_look, allow_tracked=allow_tracked))

    def restore(self, last_look: Callable[[], None] = look_no_more) -> Answer:
        """Take back exactly what was written; what the user changed since is the user's."""
        return self._answer(lambda: self._restore(last_look))

    def _answer(self, act: Callable[[], Answer]) -> Answer:
        with refusing_os_errors(self._home.root):
            self._home.create()
        with held(self._home.prune_lock, attempts=None):
            try:
                return act()
            except WriteRefused as refused:
                return Answer(written=False, file=self.file, refused=_refused(refused))

    def _apply(self, names: Sequence[str], last_look: Callable[[], None], *, allow_tracked: bool) -> Answer:
        self._check_names(names)
        self._check_trust()
        circumstances = self._circumstances()
        before = self._record.get(str(self._checkout))
        added: list[str] = []
        is_ours = not self._place.file.exists()

        def choose(document: dict[str, JSON]) -> list[Edit]:
            denials = self._target.denials(document, names, circumstances)
            added[:] = [denial.name for denial in denials]
            edits = _edits(denials, document)
            # Else the agent changes what we made, and nothing can be taken back byte for byte.
            begins = self._target.begins.items() if edits and is_ours else ()
            return [*(AddMember((name,), value) for name, value in begins), *edits]

        def keep(applied: Applied) -> None:
            self._keep(before, added, applied, allow_tracked=allow_tracked)

        surroundings = Surroundings(allow_tracked=allow_tracked, record=keep, last_look=last_look)
        try:
            outcome = write_edits(self._place, choose, self._form, surroundings)
        except WriteRefused:
            self._keep_as_before(before)
            raise
        if not outcome.written:
            return Answer(written=False, file=self.file)
        is_new = outcome.applied is not None and outcome.applied.created_file
        kept_open = self._change_git_list(lambda: self._hide_from_git(outcome.file)) if is_new else None
        return Answer(written=True, file=self.file, added=tuple(added), git_list_refused=kept_open)

    def _restore(self, last_look: Callable[[], None]) -> Answer:
        untooled = self._record.get(str(self._checkout))
        if untooled is None:
            return Answer(written=False, file=self.file)
        surroundings = Surroundings(allow_tracked=untooled.allow_tracked, last_look=last_look)
        before = self.in_force(untooled.names)
        outcome = restore(self._place, Applied.from_json(untooled.applied), self._form, surroundings)
        kept_hidden = self._change_git_list(lambda: self._show_to_git(untooled))
        self._drop()
        left = set(self.in_force(untooled.names))
        removed = tuple(name for name in before if name not in left)
        return Answer(
            outcome.written,
            self.file,
            removed=removed,
            given_up=tuple(untooled.names),
            git_list_refused=kept_hidden,
        )

    def _check_names(self, names: Sequence[str]) -> None:
        unknown = [name for name in names if self._target.closed and name not in self._target.closed]
        if unknown:
            known = ", ".join(sorted(self._target.closed))
            message = f"{self.host} has no {', '.join(unknown)}, only {known}"
            raise WriteRefused(Reason.UNKNOWN_NAME, message)

    def _check_trust(self) -> None:
        if self.host not in READ_WHERE_TRUSTED:
            return
        agent = HOSTS[self.host]
        file = agent.trust_file(self._homes)
        folders = {str(self._checkout), str(main_checkout(self._checkout))}
        if not agent.trusts(beginning_of(file, MAX_FILE_BYTES), folders):
            message = f"{file} does not trust {self._checkout}, so that the agent would not read its settings"
            raise WriteRefused(Reason.UNTRUSTED, message)

    def _circumstances(self) -> Circumstances:
        """Look at what else rules over the agent's tools here."""
        inherited: Path | None = None
        if self.host == PI:
            inherited = pi_user_settings(self._homes)
        elif self.host == CLAUDE_CODE and main_checkout(self._checkout) != self._checkout:
            inherited = main_checkout(self._checkout) / self._target.file
        elif self.host == OPENCODE:
            inherited = self._checkout / OPENCODE_SECOND_FILE
        if inherited is None:
            return Circumstances(self._version)
        return Circumstances(self._version, document_of(beginning_of(inherited, MAX_FILE_BYTES)))

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
            self._drop()
        else:
            self._put(before)

    def _put(self, untooled: Untooled) -> None:
        with refusing_os_errors(self._home.root):
            self._record.put(self._identity(), str(self._checkout), untooled)

    def _drop(self) -> None:
        with refusing_os_errors(self._home.root):
            self._record.drop(str(self._checkout))

    def _identity(self) -> str:
        return place_of(str(self._checkout), str(self._homes.home)).repository

    def _change_git_list(self, change: Callable[[], None]) -> Refused | None:
        """Return why it cannot be done, which is no reason to stop."""
        try:
            change()
        except WriteRefused as refused:
            return _refused(refused)
        return None

    def _hide_from_git(self, file: Path) -> None:
        untooled = self._record.get(str(self._checkout))
        if untooled is not None:
            git_list.hide(
                file,
                self._top(),
                lambda applied: self._put(msgspec.structs.replace(untooled, exclude=applied.to_json())),
            )

    def _show_to_git(self, untooled: Untooled) -> None:
        if untooled.exclude:
            git_list.show(self._top(), Applied.from_json(untooled.exclude))

    def _top(self) -> Path:
        return Path(place_of(str(self._checkout), str(self._homes.home)).checkout)


def _refused(refused: WriteRefused) -> Refused:
    return Refused(str(refused.reason), refused.detail)


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
                # It may stand there more than once.
                edits += [RemoveElement(path, name)] * texts(member(document, path)).count(name)
            case ShorterList(_, path, rest):
                # Each of them holds the whole list.
                kind = AddMember if member(document, path) is None else SetMember
                edits = [kind(path, list(rest))]
    return edits
