"""Whether the agent's user trusts a checkout: read from the agent's own file, again when that changed."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.scheduler.places import main_checkout

if TYPE_CHECKING:
    from collections.abc import Mapping

TRUST_FILE_BYTES_MAX = 16 * 1024 * 1024
"""Claude Code's holds the history of all its projects: some hundred kilobytes, seldom megabytes."""


@dataclass(slots=True)
class AgentTrust:
    """
    Asks the agents' own records.

    Args:
        environments: by agent, the variables that its hooks handed over.

    """

    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _known: dict[tuple[str, str], tuple[tuple[int, int], bool]] = field(default_factory=dict)

    def trusts(self, host: str, checkout: str) -> bool:
        """Return whether an agent's user trusts a checkout, or the one that it is a worktree of."""
        agent = HOSTS.get(host)
        if agent is None or not checkout:
            return False
        path = agent.trust_file(AgentHomes(Path.home(), self.environments.get(host, {})))
        try:
            found = path.stat()
        except OSError:
            return False
        stamp = (found.st_mtime_ns, found.st_size)
        known = self._known.get((host, checkout))
        if known is not None and known[0] == stamp:
            return known[1]
        is_trusted = stat.S_ISREG(found.st_mode) and agent.trusts(
            beginning_of(path, TRUST_FILE_BYTES_MAX), {checkout, str(main_checkout(Path(checkout)))}
        )
        self._known[host, checkout] = (stamp, is_trusted)
        return is_trusted


def environment_here() -> dict[str, Mapping[str, str]]:
    """Return this process's own variables for each agent, for a command that the user runs in a terminal."""
    return dict.fromkeys(HOSTS, os.environ)
