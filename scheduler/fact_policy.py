"""Whether a session's start is given facts: what the user set, and whether the repository is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.table import HOSTS

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
        if self._mode(host, place.repository) == "off":
            return "`microskills` is off"
        is_trusted = self.configuration().get("trust", repository=place.repository) == "yes"
        if is_trusted or self.agent_trusts(host, place.checkout):
            return ""
        return (
            "the repository is not trusted: accept the agent's trust dialog, or run "
            "`te config set trust yes --repo DIR`"
        )

    def block_characters(self, repository: str) -> int:
        """Return how long a repository's block may be."""
        return int(self.configuration().get("facts.block_characters", repository=repository))

    def takes_proposals(self, repository: str) -> bool:
        """Return whether a repository's block may hold what side calls proposed: it is one for all agents."""
        modes = (self._mode(host, repository) for host in HOSTS)
        return "full" in modes

    def may_ask(self, host: str, place: Place) -> bool:
        """Return whether a side call may be made about an agent's sessions in a place."""
        return self._mode(host, place.repository) == "full" and not self.refusal(host, place)

    @property
    def is_anywhere_full(self) -> bool:
        """Whether side calls are switched on at all."""
        configuration = self.configuration()
        layers = (
            configuration.everywhere,
            *configuration.hosts.values(),
            *configuration.repositories.values(),
        )
        return any(layer.get("microskills") == "full" for layer in layers)

    def _mode(self, host: str, repository: str) -> object:
        return self.configuration().get("microskills", host=host, repository=repository)
