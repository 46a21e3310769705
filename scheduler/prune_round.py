"""
The child process that looks after deny lists: it proposes, writes, and takes back.

Started by the daemon's timer as `python -I -m tokeneconomizer.scheduler.prune_round`. A file is touched only
after nothing has happened in its repository for the idle time, which is looked at once more right before.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.domain.errors import DaemonRunning, TokeneconomizerError
from tokeneconomizer.domain.prune_evidence import (
    PruneLimits,
    Verdict,
    catalog_to_json,
    evidence_to_json,
    wait_s,
)
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.projections import prune_evidence
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.scheduler import configuration
from tokeneconomizer.scheduler.agent_versions import version_of
from tokeneconomizer.scheduler.child import EXIT_BUSY, EXIT_FAILED, LOWEST_PRIORITY
from tokeneconomizer.scheduler.configured_servers import configured_servers
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.due import read_clocks
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.idleness import Idleness
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.prune_changes import (
    catalog_recorded,
    changes_of_restoring,
    changes_of_writing,
    pended,
    proposed,
    request_of,
    restored,
)
from tokeneconomizer.scheduler.prune_state import PruneState
from tokeneconomizer.scheduler.sending import Sending
from tokeneconomizer.writers.errors import Reason, WriteRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokeneconomizer.projections.prune_evidence import ListLine
    from tokeneconomizer.projections.view import View
    from tokeneconomizer.scheduler.due import Reading
    from tokeneconomizer.scheduler.prune_changes import PruneChange
    from tokeneconomizer.scheduler.prune_state import Checkout

NO_CATALOG = catalog_to_json(())

IDLE_NAME = "idle.msgpack"

MILLISECONDS = 1_000


def main() -> int:
    """Look after all deny lists once; return the exit status."""
    os.nice(LOWEST_PRIORITY)
    os.umask(0o077)
    home = Home.from_environment()
    homes = AgentHomes(Path.home(), os.environ)
    try:
        in_force = configuration.read(home.config) if home.config.exists() else Configuration()
        with (
            held(home.root / "prune_round.lock", attempts=1),
            EventLog(home.events) as log,
            open_view(home.views, prune_evidence) as view,
            Sending(home) as sending,
        ):
            PruneRound(Ground(home, homes, in_force), log, view, sending.ask).run()
    except DaemonRunning:
        return EXIT_BUSY
    except TokeneconomizerError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILED
    return 0


@dataclass(frozen=True, slots=True)
class Ground:
    """
    What a round stands on.

    Attributes:
        home: our home.
        homes: where the agents' own files are.
        in_force: the configuration.
        clocks: reads the clocks.

    """

    home: Home
    homes: AgentHomes
    in_force: Configuration
    clocks: Callable[[], Reading] = read_clocks


class PruneRound:
    """
    One look at all checkouts.

    Args:
        ground: what it stands on.
        log: the event log.
        view: of the evidence.
        ask: has events stored; returns when they are.

    """

    def __init__(
        self, ground: Ground, log: EventLog, view: View, ask: Callable[[Mapping[str, object]], object]
    ) -> None:
        self._ground = ground
        self._log = log
        self._view = view
        self._ask = ask
        self._idleness = Idleness(
            ground.home.cache / IDLE_NAME, self._last_event, ground.homes, LogPlaces(str(ground.homes.home))
        )

    def run(self) -> None:
        """Propose, write and take back what is due."""
        self.propose()
        for checkout in self._checkouts():
            self._act(checkout)
        self._idleness.keep()

    def propose(self) -> None:
        """Propose what is unused now, and in `auto` approve it."""
        self.read_configured()
        for checkout in self._checkouts():
            if checkout.mode != "off":
                self._store(checkout, self._proposal(checkout))

    def read_configured(self) -> None:
        """Take up the servers of agents that tell no tools."""
        self._view.catch_up(self._log)
        connection, homes = self._view.connection(), self._ground.homes
        known = {(line.host, line.checkout): line.catalog for line in prune_evidence.lists(connection)}
        for host, repository, path in prune_evidence.checkouts(connection):
            tools = configured_servers(host, Path(path), homes) if Path(path).is_dir() else None
            if tools is not None and catalog_to_json(tools) != known.get((host, path), NO_CATALOG):
                change = catalog_recorded("", tools)
                self._ask(request_of(host, Place(repository, path), [change]))

    def _checkouts(self) -> list[Checkout]:
        self._view.catch_up(self._log)
        state = PruneState(self._view.connection(), self._ground.in_force, self._ground.homes)
        return state.checkouts(self._ground.clocks().wall)

    def _last_event(self, repository: str) -> str:
        self._view.catch_up(self._log)
        return prune_evidence.last_activity(self._view.connection(), repository)

    def _proposal(self, checkout: Checkout) -> list[PruneChange]:
        """Return what is proposed anew; a list that was approved is left as it is."""
        line, unused = checkout.line, checkout.unused
        if line is not None and line.approved_at:
            return []
        names = [one.unit.name for one in unused]
        done = self._deny_list(checkout).in_force(names) if names else []
        names = [name for name in names if name not in done]
        changes = []
        if names != (line.names if line is not None else []):
            limits = PruneLimits.under(
                self._ground.in_force, host=checkout.host, repository=checkout.repository
            )
            changes.append(proposed(names, evidence_to_json(unused), limits.to_json()))
        if names and checkout.mode == "auto":
            changes.append(pended(names, "auto"))
        return changes

    def _act(self, checkout: Checkout) -> None:
        line = checkout.line
        if line is None or not (line.approved_at or checkout.asked_for):
            return
        idle_s = self._idle_s(checkout)
        if idle_s < self._wait_s(checkout):
            return
        deny_list = self._deny_list(checkout)
        if checkout.asked_for:
            self._take_back(checkout, deny_list, line)
        else:
            self._write(checkout, deny_list, line, int(idle_s * MILLISECONDS))

    def _deny_list(self, checkout: Checkout) -> DenyList:
        ground, host = self._ground, checkout.host
        return DenyList(ground.home, ground.homes, host, Path(checkout.path), version_of(host))

    def _wait_s(self, checkout: Checkout) -> float:
        about = {"host": checkout.host, "repository": checkout.repository}
        cached_s = prune_evidence.longest_cached_s(self._view.connection(), **about)
        return wait_s(int(self._ground.in_force.get("prune.idle_minutes", **about)), cached_s)

    def _idle_s(self, checkout: Checkout) -> float:
        return self._idleness.seconds(checkout.repository, self._ground.clocks())

    def _write(self, checkout: Checkout, deny_list: DenyList, line: ListLine, idle_ms: int) -> None:
        names = line.names
        if line.approved_by == "auto":
            # What was used since is none of it any more.
            unused = {one.unit.name for one in checkout.judged if one.verdict is Verdict.UNUSED}
            names = [name for name in names if name in unused]
        answer = deny_list.apply(names, last_look=lambda: self._look_again(checkout))
        if answer.refused is not None and line.refusal == answer.refused.reason:
            return
        changes = changes_of_writing(deny_list, answer, names, overridden=False, idle_ms=idle_ms)
        # Where the file says it all already, nothing is left to wait for.
        self._store(checkout, changes or [proposed([], "{}", "{}")])

    def _look_again(self, checkout: Checkout) -> None:
        """Refuse what was due a moment ago, if something happened since."""
        if self._idle_s(checkout) < self._wait_s(checkout):
            message = f"{checkout.path}: something happened here right before the file was to be changed"
            raise WriteRefused(Reason.ACTIVE, message)

    def _take_back(self, checkout: Checkout, deny_list: DenyList, line: ListLine) -> None:
        """Take back what was asked for since it was denied; the rest is written again at once."""
        answer = deny_list.restore(last_look=lambda: self._look_again(checkout))
        if answer.refused is not None:
            if line.refusal != answer.refused.reason:
                self._store(checkout, changes_of_restoring(deny_list, answer))
            return
        gone = checkout.asked_for
        rest = [name for name in line.written if name not in gone]
        if rest and deny_list.apply(rest).refused is not None:
            gone = line.written
        self._store(checkout, [restored(deny_list, gone)])

    def _store(self, checkout: Checkout, changes: Sequence[PruneChange]) -> None:
        if changes:
            place = Place(checkout.repository, checkout.path)
            self._ask(request_of(checkout.host, place, changes))


if __name__ == "__main__":
    sys.exit(main())
