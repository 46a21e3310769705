"""
Whether a repository provably does without a tool: pure functions of prompts, uses and the catalogue.

A unit is what can be denied as one: a tool, a capability, or all tools of a server.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokeneconomizer.domain.settings import Configuration

COOL_DOWN_DAYS = 30
"""A tool that was taken back is not proposed again for so long: a month's work shows what it is for."""


CACHE_LIFETIMES_S = (300, 3_600)
"""For how long model servers keep a prompt after its last use."""

CACHED_S_MAX = 86_400
"""No server keeps a prompt for a day: what says so comes from a wrong clock."""


def wait_s(idle_minutes: int, cached_s: float) -> float:
    """
    Return for how long a repository must be idle.

    Args:
        idle_minutes: as configured.
        cached_s: the longest silence after which a resumed session still found its cache. It may lengthen
            the wait, never shorten it.

    """
    lifetime_s = next((known for known in CACHE_LIFETIMES_S if known > cached_s), cached_s)
    return max(idle_minutes * 60.0, lifetime_s if cached_s else 0.0)


@dataclass(frozen=True, slots=True)
class PruneLimits:
    """How much silence about a tool proves that it is not needed."""

    min_prompts: int = 10
    min_sessions: int = 2
    single_prompt_sessions: int = 5

    @classmethod
    def under(cls, configuration: Configuration, *, host: str, repository: str) -> PruneLimits:
        """Return the limits in force."""
        return cls(
            **{
                name: int(configuration.get(f"prune.{name}", host=host, repository=repository))
                for name in cls.__dataclass_fields__
            }
        )

    def to_json(self) -> str:
        """Return the limits as canonical JSON, for the event."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Silence:
    """
    What went by since a unit was last used.

    Attributes:
        prompts: of people, to main agents.
        sessions: that these prompts came from.
        single_prompt_sessions: those of them that had no other prompt, ever.
        uses: in all, before.
        last_use: ISO 8601 in UTC, empty when never.

    """

    prompts: int
    sessions: int
    single_prompt_sessions: int
    uses: int = 0
    last_use: str = ""

    def proves(self, limits: PruneLimits) -> bool:
        """Return whether the unit counts as unused."""
        enough = self.prompts >= limits.min_prompts and self.sessions >= limits.min_sessions
        return enough or self.single_prompt_sessions >= limits.single_prompt_sessions


def silence_since(last_use: str, prompts: Sequence[tuple[str, str]], uses: int = 0) -> Silence:
    """
    Return what went by since a moment.

    Args:
        last_use: ISO 8601 in UTC; empty for never.
        prompts: (session, ISO 8601 in UTC).
        uses: how often the unit was used in all.

    """
    of_session: dict[str, int] = {}
    for session, _ in prompts:
        of_session[session] = of_session.get(session, 0) + 1
    since = [session for session, at in prompts if at > last_use]
    single = sum(1 for session in since if of_session[session] == 1)
    return Silence(len(since), len(set(since)), single, uses, last_use)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """
    A tool of the catalogue.

    Attributes:
        characters: of its definition; None where nobody told.
        loaded: whether its definition is in every request, and not its name alone.
        assumed: whether that is what the agent does by default, rather than what its log shows.

    """

    name: str
    server: str = ""
    characters: int | None = None
    loaded: bool = True
    assumed: bool = False


def catalog_to_json(tools: Iterable[OfferedTool]) -> str:
    """Return a catalogue in the form in which its event keeps it."""
    listed = sorted((asdict(tool) for tool in tools), key=lambda tool: (tool["server"], tool["name"]))
    return json.dumps(listed, sort_keys=True, separators=(",", ":"))


def catalog_from_json(text: str) -> list[OfferedTool]:
    """Read a catalogue; what older programs did not tell has its default."""
    known, tools = OfferedTool.__dataclass_fields__, json.loads(text)
    return [OfferedTool(**{key: value for key, value in tool.items() if key in known}) for tool in tools]


class Verdict(StrEnum):
    """What is to be done about a unit, and why not more."""

    UNUSED = "unused"
    DENIED = "denied"
    IN_USE = "in_use"
    TOO_LITTLE_SEEN = "too_little_seen"
    CORE = "core"
    SAVES_NOTHING = "saves_nothing"
    NAMED = "named"
    ALLOWED = "allowed"
    KEPT = "kept"
    TAKEN_BACK = "taken_back"
    RESUMABLE = "resumable"


@dataclass(frozen=True, slots=True)
class Unit:
    """
    What can be denied as one.

    Attributes:
        characters: saved in each request of a new session; None where nobody told.
        protected: why it is not proposed whatever the evidence, or None.

    """

    name: str
    characters: int | None
    assumed: bool
    protected: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A unit with the evidence and the verdict."""

    unit: Unit
    silence: Silence
    verdict: Verdict


def judge(unit: Unit, silence: Silence, limits: PruneLimits) -> Judged:
    """Return the verdict on one unit."""
    verdict = unit.protected
    if verdict is None and not silence.proves(limits):
        verdict = Verdict.IN_USE if silence.uses else Verdict.TOO_LITTLE_SEEN
    return Judged(unit, silence, verdict or Verdict.UNUSED)


def evidence_to_json(judged: Sequence[Judged]) -> str:
    """Return the evidence of a proposal in the form in which its event keeps it."""
    by_name: Mapping[str, dict[str, object]] = {
        one.unit.name: {**asdict(one.silence), "characters": one.unit.characters, "assumed": one.unit.assumed}
        for one in judged
    }
    return json.dumps(by_name, sort_keys=True, separators=(",", ":"))
