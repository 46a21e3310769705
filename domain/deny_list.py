"""What takes a tool away from an agent, as values: which member of which file says it, for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Document: TypeAlias = Mapping[str, object]
"""A configuration file as its agent reads it."""


GIT_LIST = ".git/info/exclude"
"""Where a file that we made is kept out of git; whether that succeeds leaves a list's state as it is."""


@dataclass(frozen=True, slots=True)
class ListedName:
    """The name is denied by standing in the list at the path, as this element."""

    name: str
    path: tuple[str, ...]
    element: str


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """The name is denied by a member that is false; a member that the user has set is let be."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unlisted:
    """The name is denied by being taken out of the list at the path."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShorterList:
    """The name is denied by missing in the list at the path, which is written whole: the user has none."""

    name: str
    path: tuple[str, ...]
    rest: tuple[str, ...]


Denial: TypeAlias = ListedName | SwitchedOff | Unlisted | ShorterList


@dataclass(frozen=True, slots=True)
class Circumstances:
    """
    What decides beside the file itself.

    Attributes:
        agent_version: of the agent, empty when unknown.
        inherited: the user's own file of the same form, which the checkout's overrides.

    """

    agent_version: str = ""
    inherited: Document | None = None


@dataclass(frozen=True, slots=True)
class DenyTarget:
    """
    One agent's file in a checkout, and how it denies tools.

    Attributes:
        file: below the checkout.
        denials: what is still to be written for these names, given what is in the file.
        closed: all names that there are; empty where any name may be one.
        problem: why the agent would refuse a file that its format takes, else empty.
        mark: the comment of a line of ours, where the format has comments.
        unit_of: what is denied when a tool (name, server) is to go; empty for what cannot be denied alone.
        core: what makes the agent work or loads other tools; never proposed.
        assumed: characters of the definitions that the agent loads by default, where its log does not tell.
        begins: members of a file that we make, which the agent would add to it by itself.

    """

    file: str
    denials: Callable[[Document, Sequence[str], Circumstances], list[Denial]]
    closed: frozenset[str] = frozenset()
    problem: Callable[[Document], str] = lambda _document: ""
    mark: Callable[[tuple[str, ...]], str] = lambda _path: ""
    unit_of: Callable[[str, str], str] = lambda name, _server: name
    core: frozenset[str] = frozenset()
    assumed: Mapping[str, int] = field(default_factory=dict)
    begins: Mapping[str, str] = field(default_factory=dict)


def member(document: object, path: Sequence[str]) -> object:
    """Return the member at a path, or None."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def texts(value: object) -> list[str]:
    """Return the texts of a list; none of what is no list."""
    return [element for element in value if isinstance(element, str)] if isinstance(value, list) else []
