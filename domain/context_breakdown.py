"""How full a context is and of what: ten kinds, from reported usage, a snapshot, and what is pending."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.snapshot import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokeneconomizer.domain.accounting.snapshot import ContextAccountingEntry

CONVERSATION = "conversation"
PENDING = "pending_next_turn"
CACHE = "cache_or_previous"

LABELS: dict[str, dict[str, str]] = {
    Kind.SYSTEM_PROMPT: {"en": "System prompt", "zh": "系统提示"},
    Kind.TOOLS: {"en": "Tools", "zh": "工具"},
    Kind.RULES: {"en": "Rules", "zh": "规则"},
    Kind.SKILLS: {"en": "Skills", "zh": "Skills"},
    Kind.MCP: {"en": "MCP", "zh": "MCP"},
    Kind.MEMORY: {"en": "Memory", "zh": "Memory"},
    Kind.FILES_ATTACHMENTS: {"en": "Files & attachments", "zh": "文件与附件"},
    CONVERSATION: {"en": "Conversation", "zh": "对话历史"},
    PENDING: {"en": "Pending next turn", "zh": "本次待加入"},
    CACHE: {"en": "Cache / previous", "zh": "缓存 / 上轮"},
}
"""The ten kinds in the order in which they are always listed, with what users read."""

PENDING_SOURCES = ("attachment", "mention", "directory", "composer")
"""Where something that waits to be sent comes from."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of the newest model reply, as its runtime reports them; None is what it does not say."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None

    @property
    def is_reported(self) -> bool:
        """Whether it says what went in; a reply without any input was never measured."""
        return bool((self.input or 0) + self.cached)

    @property
    def cached(self) -> int:
        """What was read from or written to the cache."""
        return (self.cache_read or 0) + (self.cache_write or 0)

    @property
    def total(self) -> int:
        """All that the reply leaves in the context."""
        return (self.input or 0) + self.cached + (self.output or 0)


@dataclass(frozen=True, slots=True)
class Pending:
    """Something that waits to be sent; `source` is one of PENDING_SOURCES."""

    source: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Part:
    """What one kind has; tokens are never 0."""

    kind: str
    tokens: int
    source: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ContextUsageBreakdown:
    """
    How full a context is, and of what.

    Attributes:
        used_tokens: as reported; else the sum of what is known; what is pending is no part of it.
        context_window: None where it is unknown.
        overcounted: whether the known parts exceed what was reported, so that the parts do not sum to it.
        parts: in the order of LABELS.

    """

    used_tokens: int
    context_window: int | None
    overcounted: bool
    parts: tuple[Part, ...]

    @property
    def remaining_tokens(self) -> int | None:
        """What is free, or None where the window is unknown."""
        return None if self.context_window is None else max(0, self.context_window - self.used_tokens)

    @property
    def ratio(self) -> float | None:
        """How full it is, or None where the window is unknown."""
        return None if self.context_window is None else self.used_tokens / self.context_window

    @property
    def pending_tokens(self) -> int:
        """What waits to be sent."""
        return sum(part.tokens for part in self.parts if part.kind == PENDING)

    def to_json(self, language: str) -> dict[str, object]:
        """Return its JSON form; what is unknown is left out."""
        known: dict[str, object] = {
            "contextWindow": self.context_window,
            "remainingTokens": self.remaining_tokens,
            "ratio": self.ratio,
            "overcounted": self.overcounted or None,
        }
        return {
            "usedTokens": self.used_tokens,
            **{name: value for name, value in known.items() if value is not None},
            "parts": [_part_json(part, language) for part in self.parts],
        }


def build_breakdown(
    usage: Usage | None,
    context_window: int | None,
    entries: Mapping[Kind, ContextAccountingEntry],
    pending: Iterable[Pending],
) -> ContextUsageBreakdown:
    """
    Take apart what is used.

    Args:
        usage: of the newest reply, or None.
        context_window: in tokens; None or 0 where it is unknown.
        entries: of the newest snapshot.
        pending: what waits to be sent.

    """
    known = sum(entry.tokens for entry in entries.values())
    reported = usage if usage is not None and usage.is_reported else None
    used = known if reported is None else reported.total
    rest = max(0, used - known)
    cached = 0 if reported is None else min(reported.cached, rest)
    parts = [Part(kind, entry.tokens, entry.source, entry.detail) for kind, entry in entries.items()]
    parts += [
        Part(CONVERSATION, rest - cached, "usage/rest"),
        _pending_part(pending),
        Part(CACHE, cached, _source_of_cache(reported)),
    ]
    order = list(LABELS)
    return ContextUsageBreakdown(
        used_tokens=used,
        context_window=context_window or None,
        overcounted=known > used,
        parts=tuple(sorted((part for part in parts if part.tokens), key=lambda part: order.index(part.kind))),
    )


def _pending_part(pending: Iterable[Pending]) -> Part:
    tokens: Counter[str] = Counter()
    for item in pending:
        tokens[item.source] += item.tokens
    sources = sorted(source for source, amount in tokens.items() if amount)
    return Part(
        PENDING,
        tokens.total(),
        " + ".join(f"pending/{source}" for source in sources),
        ", ".join(f"{source} {tokens[source]}" for source in sources),
    )


def _source_of_cache(usage: Usage | None) -> str:
    if usage is None:
        return ""
    amounts = (("usage/cacheRead", usage.cache_read), ("usage/cacheWrite", usage.cache_write))
    return " + ".join(source for source, amount in amounts if amount)


def _part_json(part: Part, language: str) -> dict[str, object]:
    detail = {} if part.detail is None else {"detail": part.detail}
    label = LABELS[part.kind][language]
    return {"kind": str(part.kind), "label": label, "tokens": part.tokens, "source": part.source, **detail}
