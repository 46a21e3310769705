"""How the turns of each agent are accounted: with the folders that its own hooks named."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.turn import Accounting
from tokeneconomizer.hosts.runtimes import runtimes
from tokeneconomizer.scheduler.context_files import DiskContextFiles, roots_of
from tokeneconomizer.scheduler.environment import PLACES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ENVIRONMENTS_KEPT = 16
"""Users have one place for each agent's folder, or a few profiles."""


def accounting_of(home: Path, environment: Mapping[str, str]) -> Accounting:
    """Return how turns are accounted whose agents keep their files below a home folder."""
    folders = roots_of(home, environment)
    return Accounting(runtimes(folders), DiskContextFiles(folders))


class AccountingHosts:
    """
    Answers how a host's turns are accounted.

    Args:
        home: the user's home folder.
        environments: what each agent's hook client handed over, by host; it may grow.

    """

    def __init__(self, home: Path, environments: Mapping[str, Mapping[str, str]]) -> None:
        self._home = home
        self._environments = environments

    def of(self, host: str) -> Accounting:
        """Return it; where a hook client told nothing yet, by this process's own environment."""
        environment = self._environments.get(host, os.environ)
        return _kept(self._home, tuple((name, environment.get(name, "")) for name in PLACES))


# One for each environment, so that names of skills that were read once are kept.
@lru_cache(maxsize=ENVIRONMENTS_KEPT)
def _kept(home: Path, places: tuple[tuple[str, str], ...]) -> Accounting:
    return accounting_of(home, dict(places))
