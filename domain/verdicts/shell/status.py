"""Whose exit code a list of commands, or a whole pipeline, ends with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.quoting_programs import ALWAYS_ENDING_WELL
from tokeneconomizer.domain.verdicts.shell.tree import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.verdicts.shell.lists import AndOrList, Element, Pipeline

_EXIT = re.compile(r"(?:exit|return)(?:\s+[\"']?(\S+?)[\"']?)?\s*")
_FAILING_EXIT = re.compile(r"(?:exit|return)(?:\s+(?!0+\s*$)\S+)?\s*")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
# Others may have failed by a left side of `&&`, which errexit overlooks.
_OWN_STATUS = frozenset({"command", "subshell", "variable_assignment", "test_command"})
_STATUS = "$?"
_FIRST_STATUS = "${PIPESTATUS[0]}"


def _element_text(element: Element | None) -> str:
    return text_of(element.node) if element and element.node else ""


def deciding_lists(lists: Sequence[AndOrList]) -> dict[int, bool]:
    """
    Tell which lists of a sequence give it its exit code: the last, and the one whose code an `exit` hands on.

    The value is True where only the first program of the list's pipeline does (`exit ${PIPESTATUS[0]}`).
    """
    last = len(lists) - 1
    deciding = {last: False}
    ending = _EXIT.fullmatch(_element_text(lists[last].only_element)) if lists else None
    if ending:
        position, first_only = _handed_on(lists, ending.group(1) or _STATUS)
        # After `a && b` or `{ …; }` it is not known which pipeline PIPESTATUS speaks of.
        known = not first_only or (position >= 0 and _is_plain(lists[position]))
        if position >= 0 and known and not lists[position].background:
            deciding[position] = first_only
    return deciding


def _handed_on(lists: Sequence[AndOrList], status: str) -> tuple[int, bool]:
    last = len(lists) - 1
    if status in {_STATUS, _FIRST_STATUS}:
        return last - 1, status == _FIRST_STATUS
    variable = _VARIABLE.fullmatch(status)
    if variable:
        for position in range(last - 1, 0, -1):
            name, equals, value = _element_text(lists[position].only_element).partition("=")
            if equals and name == variable.group(1):
                value = value.strip("\"'")
                return (
                    (position - 1, value == _FIRST_STATUS)
                    if value in {_STATUS, _FIRST_STATUS}
                    else (-1, False)
                )
    return -1, False


def _is_plain(item: AndOrList) -> bool:
    node = item.pipelines[0].elements[0].node
    return len(item.pipelines) == 1 and node is not None and node.type == "command"


def stops_on_failure(item: AndOrList) -> bool:
    """
    Tell whether errexit ends the shell when a list fails.

    It does not for the left sides of a list, nor for a `{ a && b; }` or `eval` that failed by such a one.
    """
    element = item.only_element
    if element is None or element.node is None:
        return len(item.pipelines) == 1
    return element.node.type in _OWN_STATUS and not _element_text(element).startswith("eval")


def ends_in_exit(item: AndOrList) -> bool:
    """Whether a list is `a && b || exit 1`: the shell goes on only if all before succeeded."""
    if len(item.pipelines) == 1 or item.connectors[-1] != "||" or "||" in item.connectors[:-1]:
        return False
    final = item.pipelines[-1].elements
    return len(final) == 1 and bool(_FAILING_EXIT.fullmatch(_element_text(final[0])))


def status_share(item: AndOrList, position: int, *, exits: bool) -> tuple[bool, bool]:
    """
    Tell whether a pipeline of a list gives the list its exit code, and whether 0 proves that it did well.

    Where an `exit` ends the list, code 0 proves it for all before.
    """
    last = len(item.pipelines) - 1
    ran_for_success = position == 0 or item.connectors[position - 1] == "&&"
    after = item.connectors[position : last - 1] if exits else item.connectors[position:]
    if item.pipelines[position].negated or not ran_for_success:
        return False, False
    return position == last, "||" not in after


def pipeline_share(pipeline: Pipeline, *, pipefail: bool, first_only: bool) -> list[tuple[bool, bool]]:
    """Tell the same for each element of a pipeline."""
    last = len(pipeline.elements) - 1
    if first_only:
        return [(position == 0, position == 0) for position in range(last + 1)]
    if not pipefail:
        return [(position == last, position == last) for position in range(last + 1)]
    may_fail = [position for position, element in enumerate(pipeline.elements) if not _ends_well(element)]
    return [(may_fail in ([], [position]), True) for position in range(last + 1)]


def _ends_well(element: Element) -> bool:
    words = _element_text(element).split(None, 1)
    return bool(words) and words[0] in ALWAYS_ENDING_WELL
