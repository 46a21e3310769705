"""The object graph, built once, for the daemon and for `te`: the store, the application, what they need."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import ENDS_OPEN_TURN, EndTurn, ReturnCalls, StartCall
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

    from tokeneconomizer.domain.commands import HookCommand, OpenTurn, Step
    from tokeneconomizer.domain.digests import Call
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
    unnamed = UnnamedLogs(Path.home(), environments)
    facts = FactPolicy(configuration, AgentTrust(environments).trusts)
    store = EventStore(home.events, key)
    application = Application(
        store,
        Hasher(key),
        configuration,
        Surroundings(
            place_of=lambda folder: place_of(folder, user_home, ceilings),
            settled=lambda command, open_turn: settled(unnamed.named_in(command, open_turn), open_turn),
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
class UnnamedLogs:
    """
    Knows the logs that an agent's hooks do not name: Copilot's name neither their log nor their turn.

    Args:
        home: the user's home.
        environments: by agent, the variables that its hooks handed over.

    """

    home: Path
    environments: Mapping[str, Mapping[str, str]]

    def named_in(self, command: HookCommand, open_turn: OpenTurn) -> HookCommand:
        """Return the command with the path of its session's log, and the turn to be looked for there."""
        key = command.key
        if key.host != COPILOT or Path(key.session_id).name != key.session_id:
            return command
        homes = AgentHomes(self.home, self.environments.get(COPILOT, {}))
        path = command.transcript or str(copilot_log.path_of(key.session_id, homes))
        goes_on = isinstance(command.step, ReturnCalls | EndTurn)
        turn = key.agent_id or (open_turn.prompt_id if goes_on else "")
        return replace(command, transcript=path, running_turn=turn)


def settled(command: HookCommand, open_turn: OpenTurn) -> HookCommand:
    """
    Return the command with what the agent's own log says better than its hook.

    For a step that came whole these are its results' statuses; where a turn is found open, or goes on while
    some of its calls have no hook, the calls of which no hook told.
    """
    host = HOSTS.get(command.key.host)
    if host is None:
        return command
    is_whole_step = isinstance(command.step, ReturnCalls) and command.step.whole_step
    turn = command.running_turn or (open_turn.prompt_id if isinstance(command.step, ENDS_OPEN_TURN) else "")
    if not (is_whole_step or turn):
        return command
    tail = _tail_for(command, open_turn)
    if is_whole_step:
        command = host.settled(command, tail)
    if turn:
        command = replace(command, unheard=_before(command.step, host.calls_of_turn(tail, turn)))
    return command


def _tail_for(command: HookCommand, open_turn: OpenTurn) -> bytes:
    """Return enough of the end of an agent's log for a step's own calls, and for those that no hook told."""
    # A call that is about to run need not be in the log yet.
    names = set() if isinstance(command.step, StartCall) else _own_calls(command.step)
    if command.running_turn:
        names |= {open_turn.newest_call, command.running_turn}
    if not names or "" in names or isinstance(command.step, EndTurn):
        return tail_of(command.transcript)
    recent = end_of(command.transcript, RECENT_TAIL_BYTES)
    if len(recent) < RECENT_TAIL_BYTES:
        return recent
    whole_lines = recent.partition(b"\n")[2]
    # A call's result comes after the call: where whole lines name it, its result is among them if anywhere.
    if all(name.encode() in whole_lines for name in names):
        return whole_lines
    return tail_of(command.transcript)


def _own_calls(step: Step | None) -> set[str]:
    match step:
        case ReturnCalls(calls):
            return {call.call_id for call in calls}
        case StartCall(call_id):
            return {call_id}
        case _:
            return set()


def _before(step: Step | None, logged: tuple[Call, ...]) -> tuple[Call, ...]:
    """Return the logged calls before a step's own; while the turn goes on, those that run may get a hook."""
    own = _own_calls(step)
    if not own:
        return logged
    earlier = takewhile(lambda call: call.call_id not in own, logged)
    return tuple(call for call in earlier if not call.background)


def hides_hints(command: HookCommand) -> bool:
    """Return whether the agent hides messages from its user, judged by the version in its log."""
    host = HOSTS.get(command.key.host)
    # Asked of the last lines first: only where they show no newer version does the rest matter.
    sizes = (RECENT_TAIL_BYTES, TRANSCRIPT_TAIL_BYTES)
    return host is None or all(host.hides_hints(end_of(command.transcript, size)) for size in sizes)


def tail_of(path: str) -> bytes:
    """Return the end of an agent's log; nothing when it is no readable regular file."""
    return end_of(path, TRANSCRIPT_TAIL_BYTES)
