"""The snapshot of what really entered a turn's context, and of what its runtime cannot count."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import BadAccounting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PRODUCERS = ("claude_code", "codepilot_runtime", "codex_runtime", "copilot", "pi", "opencode")
"""The runtimes of the contract; what tells one further is its provider backend."""


class Kind(StrEnum):
    """What a part of the context is, in the order in which parts are always shown."""

    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    RULES = "rules"
    SKILLS = "skills"
    MCP = "mcp"
    MEMORY = "memory"
    FILES_ATTACHMENTS = "files_attachments"


KINDS = tuple(Kind)


@dataclass(frozen=True, slots=True)
class ContextAccountingEntry:
    """
    What one kind has in the context.

    Attributes:
        tokens: never 0: what is not there has no entry.
        source: where the number came from.
        detail: what it is made of, or None.

    """

    tokens: int
    source: str
    detail: str | None = None

    def __post_init__(self) -> None:
        if self.tokens <= 0 or not self.source:
            message = f"an entry has {self.tokens} tokens from {self.source!r}: leave out what is not there"
            raise BadAccounting(message)

    def to_json(self) -> dict[str, object]:
        """Return its JSON form."""
        detail = {} if self.detail is None else {"detail": self.detail}
        return {"tokens": self.tokens, "source": self.source, **detail}


@dataclass(frozen=True, slots=True)
class RuntimeContextAccountingSnapshot:
    """
    What really entered one turn's context.

    Attributes:
        entries: by kind, in the order of kinds; a kind that is neither here nor unsupported had nothing.
        unsupported: the kinds that this runtime cannot count.
        produced_by: one of PRODUCERS.
        provider_backend: what tells the runtime further, or None.

    """

    entries: Mapping[Kind, ContextAccountingEntry]
    unsupported: tuple[Kind, ...]
    produced_by: str
    provider_backend: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return its JSON form."""
        backend = {} if self.provider_backend is None else {"providerBackend": self.provider_backend}
        return {
            "entries": {kind.value: entry.to_json() for kind, entry in self.entries.items()},
            "unsupported": [kind.value for kind in self.unsupported],
            "producedBy": self.produced_by,
            **backend,
        }

    def to_text(self) -> str:
        """Return its JSON form as it is stored."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def checked_producer(name: object) -> str:
    """
    Return the name of a runtime of the contract.

    Raises:
        BadAccounting: it is none.

    """
    if isinstance(name, str) and name in PRODUCERS:
        return name
    message = (
        f"producedBy is {name!r}: give one of {', '.join(PRODUCERS)}; what tells a runtime further goes "
        "into providerBackend"
    )
    raise BadAccounting(message)


def checked_kinds(names: Iterable[object]) -> tuple[Kind, ...]:
    """
    Return kinds by their names, each once, in the given order.

    Raises:
        BadAccounting: one is no kind.

    """
    return tuple(dict.fromkeys(map(checked_kind, names)))


def checked_kind(name: object) -> Kind:
    """
    Return the kind of a name.

    Raises:
        BadAccounting: it is none.

    """
    if isinstance(name, str) and name in KINDS:
        return Kind(name)
    message = f"{name!r} is no kind of context: give one of {', '.join(KINDS)}"
    raise BadAccounting(message)
