"""What happened to a checkout's deny list, in the form in which it is handed to whoever may write events."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tokeneconomizer.domain.deny_list import GIT_LIST
from tokeneconomizer.domain.labels import label
from tokeneconomizer.domain.prune_evidence import catalog_to_json
from tokeneconomizer.domain.redaction import scrub
from tokeneconomizer.domain.tool_prune import ToolPrune

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokeneconomizer.domain.commands import Place
    from tokeneconomizer.domain.prune_evidence import OfferedTool
    from tokeneconomizer.domain.tool_prune import ToolPruneEvent
    from tokeneconomizer.scheduler.deny_lists import Answer, DenyList, Refused

PRUNE_CHANGED = "prune_changed"

PRUNE_EVENTS: dict[str, type[ToolPruneEvent]] = {
    "catalog_recorded": ToolPrune.CatalogRecorded,
    "proposed": ToolPrune.PruneProposed,
    "pended": ToolPrune.DenyListPended,
    "written": ToolPrune.DenyListWritten,
    "refused": ToolPrune.DenyListRefused,
    "restored": ToolPrune.DenyListRestored,
}


TOOLS_MAX = 1_000
"""An agent offers some dozens; with all its servers' tools some hundreds."""

Field: TypeAlias = str | int | bool | list[str] | None


class PruneChange(msgspec.Struct):
    """
    One event to be stored.

    Attributes:
        kind: a key of PRUNE_EVENTS.
        fields: of that event.

    """

    kind: str
    fields: dict[str, Field]

    def __post_init__(self) -> None:
        """Refuse a kind that nobody stores."""
        if self.kind not in PRUNE_EVENTS:
            message = f"there is no `{self.kind}`"
            raise ValueError(message)


class PruneChanged(msgspec.Struct):
    """The request of that name: what happened to the deny list of an agent in a checkout, in order."""

    host: str
    repository: str
    checkout: str
    changes: list[PruneChange]
    name: str = PRUNE_CHANGED


def catalog_recorded(agent_version: str, tools: Iterable[OfferedTool]) -> PruneChange:
    """Return that the agent offers these tools here."""
    bounded = [
        replace(tool, name=label(tool.name), server=label(tool.server)) for tool in islice(tools, TOOLS_MAX)
    ]
    fields: dict[str, Field] = {"agent_version": label(agent_version), "catalog": catalog_to_json(bounded)}
    return PruneChange("catalog_recorded", fields)


def proposed(names: Sequence[str], evidence: str, limits: str) -> PruneChange:
    """Return that these names may be denied; no names take an earlier proposal or approval back."""
    return PruneChange("proposed", {"names": list(names), "evidence": evidence, "limits": limits})


def pended(names: Sequence[str], approved_by: str) -> PruneChange:
    """Return that a list was approved by the `user`, or because the mode is `auto`."""
    return PruneChange("pended", {"names": list(names), "approved_by": approved_by})


def restored(deny_list: DenyList, names: Sequence[str]) -> PruneChange:
    """Return that these names were taken back."""
    return _change("restored", deny_list, names)


def changes_of_writing(
    deny_list: DenyList, answer: Answer, names: Sequence[str], *, overridden: bool, idle_ms: int | None = None
) -> list[PruneChange]:
    """Return what a write comes to; nothing where nothing had to be changed."""
    if answer.refused is not None:
        return [_refusal(deny_list, deny_list.name, names, answer.refused)]
    if not answer.written:
        return []
    written = _change("written", deny_list, answer.added, overridden=overridden, idle_ms=idle_ms)
    return [written, *_git_list_refused(deny_list, answer)]


def changes_of_restoring(deny_list: DenyList, answer: Answer) -> list[PruneChange]:
    """Return what taking back comes to."""
    if answer.refused is not None:
        return changes_of_writing(deny_list, answer, [], overridden=True)
    taken_back = [restored(deny_list, answer.given_up)] if answer.given_up else []
    return [*taken_back, *_git_list_refused(deny_list, answer)]


def _git_list_refused(deny_list: DenyList, answer: Answer) -> list[PruneChange]:
    if answer.git_list_refused is None:
        return []
    return [_refusal(deny_list, GIT_LIST, [], answer.git_list_refused)]


def _refusal(deny_list: DenyList, file: str, names: Sequence[str], refused: Refused) -> PruneChange:
    # The file is named beside it, and a path of the user's need not be told.
    detail = refused.detail.replace(f"{deny_list.place.checkout}/", "")
    fields: dict[str, Field] = {"reason": refused.reason, "detail": scrub(detail)}
    return PruneChange("refused", {"names": list(names), "file": file, **fields})


def _change(kind: str, deny_list: DenyList, names: Sequence[str], **more: Field) -> PruneChange:
    return PruneChange(kind, {"names": list(names), "file": deny_list.name, **more})


def request_of(host: str, place: Place, changes: Sequence[PruneChange]) -> dict[str, object]:
    """Return the request that has these changes stored."""
    request: dict[str, object] = msgspec.to_builtins(
        PruneChanged(host, scrub(place.repository), scrub(place.checkout), list(changes))
    )
    return request
