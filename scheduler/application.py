"""
Commands to events: loads a session, lets the domain decide, saves once, and remembers what was said.

The daemon is the only one that runs it, or a command that holds the daemon's lock meanwhile.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from eventsourcing.application import AggregateNotFoundError
from eventsourcing.domain import Aggregate
from eventsourcing.persistence import PersistenceError

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.commands import OpenTurn, Place, StartSession
from tokeneconomizer.domain.ending import account_again, archive_silent
from tokeneconomizer.domain.facts.proposed import shown_as_json
from tokeneconomizer.domain.foresight import may_speak
from tokeneconomizer.domain.guard.envelope import with_envelope
from tokeneconomizer.domain.guard.quiet import quiet_steps
from tokeneconomizer.domain.handle import Rules, handle
from tokeneconomizer.domain.microskills import NO_BLOCK, GivenBlock, Microskills, MicroskillsEvent
from tokeneconomizer.domain.missed_calls import store_missed
from tokeneconomizer.domain.session import Phase, Session
from tokeneconomizer.domain.session_snapshot import SessionSnapshot
from tokeneconomizer.domain.setup import Setup, policy_name
from tokeneconomizer.domain.tool_prune import ToolPrune
from tokeneconomizer.scheduler.prune_changes import PRUNE_EVENTS, catalog_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from uuid import UUID

    from tokeneconomizer.domain.accounting.turn import Accounting
    from tokeneconomizer.domain.commands import Delivery, HookCommand, SessionKey
    from tokeneconomizer.domain.decisions import Decision
    from tokeneconomizer.domain.digests import Hasher
    from tokeneconomizer.domain.facts.proposer import Proposed
    from tokeneconomizer.domain.missed_calls import LoggedTurn
    from tokeneconomizer.domain.settings import Configuration
    from tokeneconomizer.domain.setup import SideCall
    from tokeneconomizer.scheduler.envelopes import Envelopes
    from tokeneconomizer.scheduler.prune_changes import PruneChange
    from tokeneconomizer.scheduler.store import EventStore

SNAPSHOT_EVERY_EVENTS = 100
"""Replaying a hundred events takes 4 ms; a snapshot is as much to write as ten events."""

GATED_KEPT = 16
"""They are taken after each hook call; only a spool that is drained brings several at once."""

QUIET_KEPT = 1_000
"""More sessions than are ever open at once; what is forgotten is found out again at the next call."""

AnyAggregate = TypeVar("AnyAggregate", bound=Aggregate)


@dataclass(frozen=True, slots=True)
class Said:
    """An event that waits for the agent to have got its reply."""

    topic: str
    version: int


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What one hook call came to.

    Attributes:
        decision: what to say.
        stream_id: the session's stream.
        said: events to take back when the reply does not arrive.
        events: how many events were saved.
        dropped: why nothing was stored, or empty.

    """

    decision: Decision
    stream_id: UUID
    said: tuple[Said, ...] = ()
    events: int = 0
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class User:
    """
    Whose sessions these are.

    Attributes:
        home: the home folder, shortened in stored command lines.
        locale: the value of LC_ALL or LANG, for `lang = auto`.

    """

    home: str
    locale: str = ""

    def language_under(self, configuration: Configuration) -> str:
        """Return `en` or `zh`."""
        chosen = str(configuration.get("lang"))
        if chosen != "auto":
            return chosen
        return "zh" if self.locale.lower().startswith("zh") else "en"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """
    What only files can tell, asked when needed.

    Attributes:
        place_of: the repository and checkout of a working folder.
        settled: the command with what the agent's own log says better than its hook; it is told where the
            open turn stands.
        hides_hints: whether a session's agent hides messages from its user.
        may_give_facts: whether an agent's sessions in a place are given facts.
        accounting: how the ended turns of a host are accounted.
        keep_first_facts: told the host, the session and the facts that it was given at its start, or an empty
            text, where its agent will ask for them again.

    """

    place_of: Callable[[str], Place]
    settled: Callable[[HookCommand, OpenTurn], HookCommand]
    hides_hints: Callable[[HookCommand], bool]
    may_give_facts: Callable[[str, Place], bool] = lambda _host, _place: False
    accounting: Callable[[str], Accounting | None] = lambda _host: None
    keep_first_facts: Callable[[str, str, str], None] = lambda _host, _session, _text: None


class _WholeOrForgotten:
    """Forgets a stream's cached state when it cannot be saved: the next call reads it anew."""

    __slots__ = ("_store", "_stream_id")

    def __init__(self, store: EventStore, stream_id: UUID) -> None:
        self._store = store
        self._stream_id = stream_id

    def __enter__(self) -> None:
        """Go on."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Forget the state after any failure."""
        if kind is not None:
            self._store.evict(self._stream_id)


class Application:
    """
    The one place where commands become events.

    Args:
        store: the event store.
        hasher: keyed hashes of this home.
        configuration: gives the configuration in force.
        surroundings: what only files can tell.
        user: the user's home folder and language.
        envelopes: what green turns take.

    """

    def __init__(
        self,
        store: EventStore,
        hasher: Hasher,
        configuration: Callable[[], Configuration],
        surroundings: Surroundings,
        user: User,
        envelopes: Envelopes,
    ) -> None:
        self._store = store
        self._hasher = hasher
        self._configuration = configuration
        self._surroundings = surroundings
        self._user = user
        self._envelopes = envelopes
        self._gated: deque[UUID] = deque(maxlen=GATED_KEPT)
        # By stream: in which version it was looked at, and how many steps were quiet from there.
        self._quiet: dict[UUID, tuple[int, int]] = {}

    def settled(self, command: HookCommand) -> HookCommand:
        """Return what a hook call tells with what the agent's own log says better."""
        session = self._find(Session, Session.stream_id(command.key))
        return self._surroundings.settled(command, _open_turn(session))

    def may_speak(self, command: HookCommand) -> bool:
        """Return whether the answer to a settled call may say anything."""
        stream_id = Session.stream_id(command.key)
        looked_at, quiet = self._quiet.get(stream_id, (0, 0))
        session = self._find(Session, stream_id) if quiet else None
        is_as_then = session is not None and session.version == looked_at
        return may_speak(command, quiet if is_as_then else 0)

    def look_ahead(self, stream_id: UUID) -> None:
        """Find out how long there will be nothing to say to a session; it holds until its next event."""
        session = self._find(Session, stream_id)
        if session is None or not session.turn.is_open:
            self._quiet.pop(stream_id, None)
            return
        if len(self._quiet) >= QUIET_KEPT:
            self._quiet.clear()
        self._quiet[stream_id] = session.version, quiet_steps(session.turn, session.limits)

    def handle(self, command: HookCommand, delivery: Delivery) -> Answer:
        """Store what a settled hook call tells, and return the answer."""
        stream_id = Session.stream_id(command.key)
        session = self._find(Session, stream_id)
        with self._whole_or_forgotten(stream_id):
            outcome = handle(
                session,
                command,
                delivery,
                lambda: self._surroundings.place_of(command.cwd),
                self._rules(command, session),
                self._hasher,
            )
            if outcome.session is None:
                return Answer(outcome.decision, stream_id, dropped=outcome.dropped)
            said = tuple(
                Said(event.TOPIC, event.originator_version)
                for event in outcome.session.pending_events
                if isinstance(event, happened.SAYING)
            )
            is_gated = any(isinstance(event, happened.GateFired) for event in outcome.session.pending_events)
            events = len(outcome.session.pending_events)
            self._store.save(outcome.session)
        if isinstance(command.step, StartSession) and command.step.reassembles:
            self._keep_first_facts(outcome.session)
        if is_gated:
            self._gated.append(stream_id)
        self._snapshot_when_due(outcome.session)
        # A sub-agent is given a choice of the tools.
        if command.offered and not command.key.agent_id:
            place = Place(outcome.session.repository, outcome.session.checkout)
            change = catalog_recorded("", command.offered)
            self.prune_changed(command.key.host, place, [change], delivery.at)
        return Answer(outcome.decision, stream_id, said, events, outcome.dropped)

    def taken_gated(self) -> list[UUID]:
        """Return the sessions whose turn passed the gate since this was asked last."""
        gated = list(self._gated)
        self._gated.clear()
        return gated

    @contextmanager
    def session(self, stream_id: UUID) -> Iterator[Session | None]:
        """Give a session to trigger events on, and save them at the end; None when there is no such one."""
        session = self._find(Session, stream_id)
        with self._whole_or_forgotten(stream_id):
            yield session
            if session is not None and session.pending_events:
                self._store.save(session)

    @contextmanager
    def setup(self, host: str, at: datetime) -> Iterator[Setup]:
        """Give an agent's setup to trigger events on, and save them at the end."""
        setup = self._setup(host, at)
        with self._whole_or_forgotten(setup.id):
            yield setup
            if setup.pending_events:
                self._store.save(setup)

    def delivery_failed(self, stream_id: UUID, said: Sequence[Said], at: datetime, reason: str) -> None:
        """Take back what was said in a reply that never reached the agent."""
        session = self._find(Session, stream_id)
        # The spool may have told already that the hook client answered by itself.
        said = [] if session is None else [event for event in said if session.counts_as_said(event.version)]
        if session is None or not said:
            return
        with self._whole_or_forgotten(stream_id):
            for event in said:
                session.trigger_event(
                    Session.DeliveryFailed,
                    timestamp=at,
                    delivery_id="",
                    failed_topic=event.topic,
                    failed_version=event.version,
                    reason=reason,
                )
            self._store.save(session)
        if any(event.topic == happened.FactsInjected.TOPIC for event in said):
            self._keep_first_facts(session)

    def calls_missed(self, key: SessionKey, turn: LoggedTurn) -> int:
        """Store what an agent's log tells of a turn that is over and no hook did; return how many calls."""
        stream_id = Session.stream_id(key)
        with self.session(stream_id) as session:
            if session is None:
                return 0
            stored = store_missed(session, turn)
            accounting = self._surroundings.accounting(key.host)
            if accounting is not None and session.has_ended(turn.number):
                since = self._store.events.get(stream_id, gt=turn.opened_version - 1)
                events = [*since, *session.pending_events]
                account_again(session, turn.number, turn.at, replace(accounting, told=turn.told), events)
            return stored

    def archive_silent(self, stream_id: UUID, silent_since: datetime, at: datetime) -> bool:
        """
        Archive a session that was silent since that moment; return whether it was archived.

        Its newest event is looked at again here: the view that named it may be behind.
        """
        session = self._find(Session, stream_id)
        if session is None or session.phase is Phase.ARCHIVED or session.modified_on > silent_since:
            return False
        with self._whole_or_forgotten(stream_id):
            archive_silent(session, at, self._surroundings.accounting(session.host))
            self._store.save(session)
        return True

    def setup_changed(
        self, host: str, at: datetime, *, action: str, files: list[str], versions: tuple[str, str]
    ) -> None:
        """Store that hooks were installed or removed; `versions` are the program's and the agent's."""
        program_version, agent_version = versions
        with self.setup(host, at) as setup:
            setup.trigger_event(
                Setup.Changed,
                timestamp=at,
                action=action,
                files=files,
                program_version=program_version,
                agent_version=agent_version,
            )

    def side_call_made(self, host: str, call: SideCall, at: datetime) -> None:
        """Store a call of our own through an agent, with what it cost."""
        with self.setup(host, at) as setup:
            setup.trigger_event(Setup.SideCallMade, timestamp=at, **asdict(call))

    def policies_seen(self, policies: Sequence[tuple[str, str, str, str]], at: datetime) -> int:
        """
        Store the configuration values that differ from what was last stored.

        Args:
            policies: (host or `*`, key, value as JSON, repository or empty).
            at: when they were seen.

        Returns:
            how many differed.

        """
        changed = 0
        for host, key, value, repository in policies:
            setup = self._setup(host, at)
            if setup.policies.get(policy_name(key, repository), "null") == value:
                continue
            with self._whole_or_forgotten(setup.id):
                setup.trigger_event(
                    Setup.PolicySet, timestamp=at, key=key, value=value, repository=repository
                )
                self._store.save(setup)
            changed += 1
        return changed

    def block_rendered(
        self, repository: str, at: datetime, *, text: str, facts: str, log_position: int, rules: int
    ) -> None:
        """Store the block that the next sessions of a repository are given."""
        fields = {"text": text, "facts": facts, "log_position": log_position, "rule_version": rules}
        self._learn(repository, Microskills.BlockRendered, at, **fields)

    def fact_wished(self, repository: str, at: datetime, *, fact_id: str, pinned: bool) -> None:
        """Store that the user wants a fact to stay, or gone."""
        event = Microskills.FactPinned if pinned else Microskills.FactRetiredByUser
        self._learn(repository, event, at, fact_id=fact_id)

    def facts_proposed(
        self, repository: str, at: datetime, side_call_id: str, proposed: Sequence[Proposed]
    ) -> None:
        """Store the facts that a side call proposed."""
        for one in proposed:
            self._learn(
                repository,
                Microskills.FactProposed,
                at,
                fact_id=one.fact_id,
                text=one.text,
                side_call_id=side_call_id,
                purpose=one.proposal.purpose.value,
                command=one.proposal.command,
                instead_of=one.proposal.instead_of,
                shown=shown_as_json(one.shown),
            )

    def identity_linked(self, repository: str, other: str, at: datetime) -> None:
        """Store that a repository is the same as one with another identity."""
        self._learn(repository, Microskills.IdentityLinked, at, other_repository=other)

    def _learn(self, repository: str, event: type[MicroskillsEvent], at: datetime, **fields: object) -> None:
        stream_id = Microskills.create_id(repository)
        found = self._find(Microskills, stream_id) or Microskills.open(repository, at)
        with self._whole_or_forgotten(stream_id):
            found.trigger_event(event, timestamp=at, **fields)
            self._store.save(found)

    def prune_changed(self, host: str, place: Place, changes: Sequence[PruneChange], at: datetime) -> int:
        """Store what happened to a checkout's deny list; return how many events that were."""
        stream_id = ToolPrune.create_id(host, place.checkout)
        prune = self._find(ToolPrune, stream_id) or ToolPrune.open(host, place.repository, place.checkout, at)
        with self._whole_or_forgotten(stream_id):
            for change in changes:
                if not (change.kind == "catalog_recorded" and prune.has_catalog(**change.fields)):
                    prune.trigger_event(PRUNE_EVENTS[change.kind], timestamp=at, **change.fields)
            events = len(prune.pending_events)
            self._store.save(prune)
        return events

    def known_policies(self, host: str) -> dict[str, str]:
        """Return the policies last stored for a host, by `policy_name`."""
        setup = self._find(Setup, Setup.create_id(host))
        return {} if setup is None else dict(setup.policies)

    def _keep_first_facts(self, session: Session) -> None:
        self._surroundings.keep_first_facts(session.host, session.session_id, session.first_facts.text)

    def _setup(self, host: str, at: datetime) -> Setup:
        found = self._find(Setup, Setup.create_id(host))
        return found or Setup.open(host, at)

    def _find(self, kind: type[AnyAggregate], stream_id: UUID) -> AnyAggregate | None:
        try:
            found = self._store.load(stream_id)
        except AggregateNotFoundError:
            return None
        if not isinstance(found, kind):
            message = f"stream {stream_id} is no {kind.__name__}"
            raise TypeError(message)
        return found

    def _whole_or_forgotten(self, stream_id: UUID) -> _WholeOrForgotten:
        return _WholeOrForgotten(self._store, stream_id)

    def _rules(self, command: HookCommand, session: Session | None) -> Rules:
        configuration = self._configuration()
        host, repository = command.key.host, session.repository if session else ""
        echo = configuration.get("echo_stop_hint", host=host, repository=repository)
        may_hint = session is not None and bool(session.turn.redirects)
        return Rules(
            guard_is_on=configuration.get("loopguard", host=host, repository=repository) == "on",
            limits=with_envelope(
                configuration.limits(host=host, repository=repository), self._envelopes.of(repository, host)
            ),
            language=self._user.language_under(configuration),
            # Reading the agent's log is only worth it when a hint may follow.
            echo_hint=echo == "always"
            or (echo == "auto" and may_hint and self._surroundings.hides_hints(command)),
            home=self._user.home,
            block_at=lambda place: self._block_at(host, place),
            accounting=self._surroundings.accounting(host),
        )

    def _block_at(self, host: str, place: Place) -> GivenBlock:
        if not self._surroundings.may_give_facts(host, place):
            return NO_BLOCK
        found = self._find(Microskills, Microskills.create_id(place.repository))
        return NO_BLOCK if found is None else found.block

    def _snapshot_when_due(self, session: Session) -> None:
        events = session.version - session.snapshot_version
        if events < SNAPSHOT_EVERY_EVENTS or session.turn.is_open or self._store.snapshots is None:
            return
        # Only a shortcut: the events are saved, and the call is answered whatever becomes of it.
        with suppress(PersistenceError):
            self._store.snapshots.put([SessionSnapshot.of(session)])
        session.snapshot_version = session.version


def _open_turn(session: Session | None) -> OpenTurn:
    if session is None:
        return OpenTurn()
    window = session.turn.window
    return OpenTurn(session.turn.prompt_id, window[-1].call_id if window else "")
