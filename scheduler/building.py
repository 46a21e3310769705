"""The object graph, built once, for the daemon and for `te`: the store, the application, what they need."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import ENDS_OPEN_TURN, EndTurn, ReturnCalls
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.hosts.copilot import log as copilot_log
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.scheduler.accounting_hosts import AccountingHosts
from tokeneconomizer.scheduler.application import Application, Surroundings, User
from tokeneconomizer.scheduler.envelopes import Envelopes
from tokeneconomizer.scheduler.fact_policy import FactPolicy
from tokeneconomizer.scheduler.foreign_files import end_of
from tokeneconomizer.scheduler.given_facts import GivenFacts
from tokeneconomizer.scheduler.live_configuration import LiveConfiguration
from tokeneconomizer.scheduler.places import CEILING_VARIABLE, place_of
from tokeneconomizer.scheduler.store import EventStore
from tokeneconomizer.scheduler.store_guard import refuse_damaged
from tokeneconomizer.scheduler.trust import AgentTrust

if TYPE_CHECKING:
    from collections.abc import Mapping

    import structlog

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.scheduler.home import Home

TRANSCRIPT_TAIL_BYTES = 262_144
"""A step's results are its log's last lines; agents cut a result at some 30 KB and log it twice."""

RECENT_TAIL_BYTES = 16_384
"""Holds most results, and takes a tenth of the time to read."""

NO_ENVIRONMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Parts:
    """What a process that may write events works with."""

    store: EventStore
    application: Application
    configuration: LiveConfiguration
    envelopes: Envelopes
    facts: FactPolicy


def build(
    home: Home,
    log: structlog.stdlib.BoundLogger,
    environments: Mapping[str, Mapping[str, str]] = NO_ENVIRONMENTS,
) -> Parts:
    """
    Open the store of a home whose lock is held, and build what works on it.

    Args:
        home: the home.
        log: the log.
        environments: what each agent's hook client handed over, by host; it may grow.

    Raises:
        StoreDamaged, StoreTooNew: nothing is written to such a store.

    """
    refuse_damaged(home)
    key = home.key()
    user_home = str(Path.home())
    ceilings = os.environ.get(CEILING_VARIABLE, "")
    configuration = LiveConfiguration(home.config, log)
    envelopes = Envelopes()
    logs = AgentLogs(Path.home(), environments)
    facts = FactPolicy(configuration, AgentTrust(environments).trusts)
    store = EventStore(home.events, key)
    application = Application(
        store,
        Hasher(key),
        configuration,
        Surroundings(
            place_of=lambda folder: place_of(folder, user_home, ceilings),
            settled=lambda command, open_prompt: settled(logs.named_in(command), open_prompt),
            hides_hints=hides_hints,
            may_give_facts=lambda host, place: not facts.refusal(host, place),
            accounting=AccountingHosts(Path.home(), environments).of,
            keep_first_facts=GivenFacts(home).keep,
        ),
        User(user_home, os.environ.get("LC_ALL") or os.environ.get("LANG", "")),
        envelopes,
    )
    return Parts(store, application, configuration, envelopes, facts)


@dataclass(frozen=True, slots=True)
class AgentLogs:
    """
    Knows the logs that an agent's hooks do not name.

    Args:
        home: the user's home.
        environments: by agent, the variables that its hooks handed over.

    """

    home: Path
    environments: Mapping[str, Mapping[str, str]]

    def named_in(self, command: HookCommand) -> HookCommand:
        """Return the command with the path of its session's log; only Copilot's hooks leave it out."""
        key = command.key
        if command.transcript or key.host != COPILOT or Path(key.session_id).name != key.session_id:
            return command
        homes = AgentHomes(self.home, self.environments.get(COPILOT, {}))
        return replace(command, transcript=str(copilot_log.path_of(key.session_id, homes)))


def settled(command: HookCommand, open_prompt: str) -> HookCommand:
    """
    Return the command with what the agent's own log says better than its hook.

    For a step that came whole these are its results' statuses; where a turn is found open, the calls that the
    user interrupted, of which no hook told.
    """
    host = HOSTS.get(command.key.host)
    if host is None:
        return command
    if isinstance(command.step, ReturnCalls) and command.step.whole_step:
        return host.settled(command, _tail_with(command.step, command.transcript))
    if isinstance(command.step, EndTurn) and open_prompt:
        return host.settled(command, tail_of(command.transcript))
    if isinstance(command.step, ENDS_OPEN_TURN) and open_prompt:
        return replace(command, cut_off=host.calls_of_turn(tail_of(command.transcript), open_prompt))
    return command


def _tail_with(step: ReturnCalls, path: str) -> bytes:
    """Return enough of the end of an agent's log to hold the lines of a step's calls."""
    recent = end_of(path, RECENT_TAIL_BYTES)
    if len(recent) < RECENT_TAIL_BYTES:
        return recent
    whole_lines = recent.partition(b"\n")[2]
    # A call's result comes after the call: where whole lines name it, its result is among them if anywhere.
    if all(call.call_id.encode() in whole_lines for call in step.calls):
        return whole_lines
    return tail_of(path)


def hides_hints(command: HookCommand) -> bool:
    """Return whether the agent hides messages from its user, judged by the version in its log."""
    host = HOSTS.get(command.key.host)
    # Asked of the last lines first: only where they show no newer version does the rest matter.
    sizes = (RECENT_TAIL_BYTES, TRANSCRIPT_TAIL_BYTES)
    return host is None or all(host.hides_hints(end_of(command.transcript, size)) for size in sizes)


def tail_of(path: str) -> bytes:
    """Return the end of an agent's log; nothing when it is no readable regular file."""
    return end_of(path, TRANSCRIPT_TAIL_BYTES)
