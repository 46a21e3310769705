"""Whether a session's start is given facts: what the user set, and whether the repository is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.domain.commands import Place
    from tokeneconomizer.domain.settings import Configuration


@dataclass(frozen=True, slots=True)
class FactPolicy:
    """
    Decides by configuration and trust.

    Attributes:
        configuration: gives the one in force.
        agent_trusts: whether an agent's user trusts a checkout.

    """

    configuration: Callable[[], Configuration]
    agent_trusts: Callable[[str, str], bool]

    def refusal(self, host: str, place: Place) -> str:
        """Return why a start is given no facts, in words; empty where it is given them."""
        configuration = self.configuration()
        if configuration.get("microskills", host=host, repository=place.repository) == "off":
            return "`microskills` is off"
        is_trusted = configuration.get("trust", repository=place.repository) == "yes"
        if is_trusted or self.agent_trusts(host, place.checkout):
            return ""
        return (
            "the repository is not trusted: accept the agent's trust dialog, or run "
            "`te config set trust yes --repo DIR`"
        )

    def block_characters(self, repository: str) -> int:
        """Return how long a repository's block may be."""
        return int(self.configuration().get("facts.block_characters", repository=repository))
