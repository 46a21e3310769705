"""
From a hook call to events and an answer: pure, so that a recorded session replays exactly as it ran.

`handle` triggers the events on the session and leaves saving to its caller.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.accounting.told import NOTHING_TOLD
from tokeneconomizer.domain.call_events import Step as CallStep
from tokeneconomizer.domain.call_events import trigger_call
from tokeneconomizer.domain.call_ruling import rule_on
from tokeneconomizer.domain.commands import (
    Compact,
    Delivery,
    EndSession,
    EndTurn,
    HookCommand,
    Place,
    ReturnCalls,
    StartCall,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.decisions import NOTHING, Decision
from tokeneconomizer.domain.digests import Hasher, digest_call, stored_call_id
from tokeneconomizer.domain.ending import end_turn
from tokeneconomizer.domain.guard import texts
from tokeneconomizer.domain.guard.decide import Hint, Redirect, decide
from tokeneconomizer.domain.guard.gate import far_outside
from tokeneconomizer.domain.guard.limits import Limits
from tokeneconomizer.domain.guard.quiet import quiet_steps
from tokeneconomizer.domain.labels import label
from tokeneconomizer.domain.microskills import NO_BLOCK, GivenBlock
from tokeneconomizer.domain.redaction import scrub
from tokeneconomizer.domain.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.domain.accounting.told import ToldContext
    from tokeneconomizer.domain.accounting.turn import Accounting
    from tokeneconomizer.domain.digests import Call

SAME_CONTENT_WITHIN_S = 2.0
"""Two registrations of one hook start together; a person does not send one prompt twice within this time."""

PROMPT_BEFORE_START_S_MAX = 5.0
"""The hooks of a start and of its prompt begin within 0.1 s; each is told within its deadline of a second."""


GIVEN_BY_THE_CLIENT = "-given"
"""Behind a delivery's id: of the event that says what the hook client gave where the daemon had stored it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """
    What is in force for this hook call.

    Attributes:
        guard_is_on: whether redirects and hints are given.
        limits: the guard's thresholds.
        language: `en` or `zh`, for what is said.
        echo_hint: whether the model has to repeat a hint, because the agent hides it.
        home: the user's home folder, shortened in stored command lines.
        block_at: the facts block for a start in a place; asked only where a start is to be given one.
        accounting: how ended turns are accounted; None in a replay, which is about the guard alone.

    """

    guard_is_on: bool = True
    limits: Limits = field(default_factory=Limits)
    language: str = "en"
    echo_hint: bool = False
    home: str = ""
    block_at: Callable[[Place], GivenBlock] = lambda _: NO_BLOCK
    accounting: Accounting | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The result of one hook call.

    Attributes:
        session: with the new events pending; None when there is nothing to store.
        decision: the answer.
        dropped: why the call was not stored, or empty.

    """

    session: Session | None
    decision: Decision
    dropped: str = ""


def handle(
    session: Session | None,
    command: HookCommand,
    delivery: Delivery,
    place: Callable[[], Place],
    rules: Rules,
    hasher: Hasher,
) -> Outcome:
    """
    Decide what a hook call means for its session.

    Args:
        session: the stream as it is, or None when it was never seen.
        command: the decoded hook call.
        delivery: its id and time, and whether it is answered already.
        place: tells the repository and checkout; asked only for a stream's first event.
        rules: what is in force.
        hasher: makes keyed hashes.

    Returns:
        the session with its pending events, and the answer.

    """
    if command.step is None:
        return Outcome(None, NOTHING, dropped="nothing to store for this event")
    if session is not None and session.has_delivery(delivery.delivery_id):
        return _stored_already(session, delivery)
    return _Handling(command, delivery, place, rules, hasher).run(session)


def _stored_already(session: Session, delivery: Delivery) -> Outcome:
    """
    Drop a call that comes a second time; what its first answer said did not arrive when it comes spooled.

    The daemon was too late, or ended between saving and answering: the hook client gave the empty answer.
    """
    dropped = "this delivery is stored already"
    said = session.said_in(delivery.delivery_id) if delivery.answered else []
    for topic, version in said:
        session.trigger_event(
            happened.DeliveryFailed,
            timestamp=delivery.at,
            delivery_id="",
            failed_topic=topic,
            failed_version=version,
            reason="the hook client answered by itself",
        )
    # What the daemon said may have been taken back before: what was given instead is stored all the same.
    given_id = delivery.delivery_id + GIVEN_BY_THE_CLIENT
    if delivery.given and not session.has_delivery(given_id):
        _inject(session, replace(delivery, delivery_id=given_id), GivenBlock(delivery.given))
    return Outcome(session if session.pending_events else None, NOTHING, dropped)


def _inject(session: Session, delivery: Delivery, block: GivenBlock) -> None:
    session.trigger_event(
        happened.FactsInjected,
        timestamp=delivery.at,
        delivery_id=delivery.delivery_id,
        text=block.text,
        block_version=block.version,
    )


class _Handling:
    """One hook call on its way to events."""

    def __init__(
        self,
        command: HookCommand,
        delivery: Delivery,
        place: Callable[[], Place],
        rules: Rules,
        hasher: Hasher,
    ) -> None:
        self._command = command
        self._delivery = delivery
        self._place = place
        self._rules = rules
        self._hasher = hasher

    def run(self, session: Session | None) -> Outcome:
        step = self._command.step
        found = self._store_unheard(session) if session is not None else 0
        if isinstance(step, StartSession):
            return self._start(session, step)
        if isinstance(step, StartCall) and not (session and found):
            # The usual case: nothing is stored, nor a line written to the log.
            return Outcome(None, NOTHING)
        if session is None:
            session = self._begin(StartSession(source=happened.UNSEEN))
        decision, dropped = NOTHING, ""
        match step:
            case SubmitPrompt():
                dropped = self._submit_prompt(session, step)
                decision = self._silence(session)
            case StartCall():
                decision = self._judge(session)
            case ReturnCalls():
                decision, dropped = self._return_calls(session, step, found)
            case EndTurn(reason, told):
                self._end_turn(session, reason, told)
            case Compact(trigger, characters):
                fields = {"trigger": label(trigger), "summary_characters": characters}
                self._trigger(session, happened.Compacted, **fields)
            case EndSession(reason):
                dropped = self._end_session(session, reason)
        return (
            Outcome(session, decision, dropped)
            if session.pending_events
            else Outcome(None, decision, dropped)
        )

    def _start(self, session: Session | None, step: StartSession) -> Outcome:
        if session is None:
            session = self._begin(step)
            return Outcome(session, self._give_facts(session, step))
        if self._is_repeated(session, self._content_of_start(step)):
            return Outcome(None, NOTHING, dropped="the same start came through another registration")
        if step.source != "compact" and not (step.overlaps_prompt and self._has_just_been_prompted(session)):
            self._end_turn(session, "no_stop")
        self._trigger(
            session,
            happened.SessionResumed,
            source=label(step.source),
            seconds_since_last_response=step.seconds_since_last_response,
            context_tokens=step.context_tokens,
            cache_expired=step.cache_expired,
            content_hash=self._content_of_start(step),
            limits=self._rules.limits.to_json(),
        )
        return Outcome(session, self._give_facts(session, step))

    def _has_just_been_prompted(self, session: Session) -> bool:
        turn, at = session.turn, self._delivery.at.timestamp()
        return turn.is_open and not turn.calls and abs(at - turn.started_at) <= PROMPT_BEFORE_START_S_MAX

    def _give_facts(self, session: Session, step: StartSession) -> Decision:
        if step.reassembles and session.first_facts.text:
            # The same bytes as at its start, whatever became of the facts: the prompt cache holds them.
            return Decision(context=session.first_facts.text)
        if session.agent_id or not step.begins_anew or (self._delivery.answered and not self._delivery.given):
            return NOTHING
        block = self._rules.block_at(Place(session.repository, session.checkout))
        if self._delivery.answered and block.text != self._delivery.given:
            # The hook client gave what lay on disk then.
            block = GivenBlock(self._delivery.given)
        if not block.text:
            return NOTHING
        _inject(session, self._delivery, block)
        return Decision(context=block.text)

    def _store_unheard(self, session: Session) -> int:
        """Store the turn's calls that no hook told, and return how many they were."""
        unseen = [call for call in self._command.unheard if not session.has_returned(stored_call_id(call))]
        if not (session.turn.is_open or self._command.running_turn):
            return 0
        number = session.turn.step_of_next_call
        for call in unseen:
            self._store_call(session, call, number, whole_step=True)
        return len(unseen)

    def _begin(self, step: StartSession) -> Session:
        key, place = self._command.key, self._place()
        return Session.start(
            key,
            self._delivery.at,
            delivery_id=self._delivery.delivery_id,
            parent=Session.stream_id(replace(key, agent_id="")).hex if key.agent_id else "",
            agent_type=label(step.agent_type),
            repository=scrub(place.repository),
            checkout=scrub(place.checkout),
            source=label(step.source),
            model=label(step.model),
            content_hash=self._content_of_start(step),
            limits=self._rules.limits.to_json(),
        )

    def _submit_prompt(self, session: Session, step: SubmitPrompt) -> str:
        content = self._hasher.hash(f"prompt\n{step.prompt_id}\n{step.text}")
        if self._is_repeated(session, content):
            return "the same prompt came through another registration"
        self._end_turn(session, "no_stop")
        self._trigger(
            session,
            happened.PromptSubmitted,
            turn=session.turn.number + 1,
            prompt_id=label(step.prompt_id),
            kind=step.kind.value,
            characters=len(step.text),
            content_hash=content,
            tools_named=[label(name) for name in step.tools_named],
            skills_named=[label(name) for name in step.skills_named],
            limits=self._rules.limits.to_json(),
        )
        return ""

    def _return_calls(self, session: Session, step: ReturnCalls, found: int) -> tuple[Decision, str]:
        # Asked first: a failed call comes twice, and digesting a large output is most of the work.
        unseen = [call for call in step.calls if not session.has_returned(stored_call_id(call))]
        number = session.turn.step_of_next_call
        for call in unseen:
            self._store_call(session, call, number, whole_step=step.whole_step)
        if not step.whole_step:
            return NOTHING, "" if unseen else "these calls are stored already"
        if not (unseen or found):
            if not session.turn.step_is_open:
                return NOTHING, "this step is stored already"
            self._trigger(session, happened.StepEnded, turn=session.turn.number, step=session.turn.steps)
        return self._judge(session), ""

    def _store_call(self, session: Session, call: Call, step: int, *, whole_step: bool) -> None:
        ruling = rule_on(call)
        digest = digest_call(call, self._hasher, self._rules.home, is_red=ruling.is_red)
        trigger_call(session, digest, ruling, self._delivery, CallStep(step, whole_step))

    def _judge(self, session: Session) -> Decision:
        if not self._rules.guard_is_on:
            return NOTHING
        self._watch_gate(session)
        # An answer that the hook client gave by itself is given: nothing can be added to it.
        if self._delivery.answered:
            return NOTHING
        verdict = decide(session.turn, session.limits)
        if isinstance(verdict, Redirect):
            return self._redirect(session, verdict)
        if isinstance(verdict, Hint):
            return self._hint(session, verdict)
        return self._silence(session)

    def _silence(self, session: Session) -> Decision:
        """Say nothing, and where that helps, how long that will be so."""
        # Past the gate a judge's verdict may come between two steps.
        if not self._command.looks_ahead or session.turn.is_gated:
            return NOTHING
        return Decision(quiet_steps=quiet_steps(session.turn, session.limits))

    def _watch_gate(self, session: Session) -> None:
        if session.turn.is_gated:
            return
        found = far_outside(session.turn, session.limits, self._delivery.at.timestamp())
        if found is not None:
            number = session.turn.number
            self._trigger(session, happened.GateFired, turn=number, **asdict(found))

    def _redirect(self, session: Session, verdict: Redirect) -> Decision:
        finding = verdict.finding
        text = texts.redirect_text(finding, self._rules.language)
        self._trigger(
            session,
            happened.Redirected,
            turn=session.turn.number,
            number=len(session.turn.redirects) + 1,
            rule=finding.rule,
            evidence=finding.evidence,
            evidence_hash=finding.evidence_hash,
            occurrences=finding.occurrences,
            call_number=session.turn.calls,
            call_id=finding.call.call_id,
            text=text,
            limits=session.limits.to_json(),
        )
        return Decision(context=text)

    def _hint(self, session: Session, verdict: Hint) -> Decision:
        text = texts.hint_text(verdict.call, verdict.occurrences, self._rules.language)
        echo = self._rules.echo_hint
        self._trigger(
            session,
            happened.StopHinted,
            turn=session.turn.number,
            evidence_hash=verdict.redirect.evidence_hash,
            call_number=session.turn.calls,
            call_id=verdict.call.call_id,
            text=text,
            echo=echo,
        )
        return Decision(
            context=texts.echo_request(text, self._rules.language) if echo else "", hint=text, echo_hint=echo
        )

    def _end_session(self, session: Session, reason: str) -> str:
        if session.end_is_stored:
            return "the same end came through another registration"
        self._end_turn(session, "stop" if self._command.key.agent_id else "no_stop")
        self._trigger(session, happened.SessionEnded, reason=label(reason))
        self._trigger(session, happened.SessionArchived, reason="ended")
        return ""

    def _end_turn(self, session: Session, reason: str, told: ToldContext = NOTHING_TOLD) -> None:
        accounting = self._rules.accounting
        if accounting is not None and told != NOTHING_TOLD:
            accounting = replace(accounting, told=told)
        end_turn(session, reason, self._delivery.at, self._delivery.delivery_id, accounting)

    def _is_repeated(self, session: Session, content: str) -> bool:
        ago_s = session.seconds_since_content(content, self._delivery.at)
        return ago_s is not None and abs(ago_s) <= SAME_CONTENT_WITHIN_S

    def _content_of_start(self, step: StartSession) -> str:
        return self._hasher.hash(f"start\n{step.source}\n{step.agent_type}")

    def _trigger(self, session: Session, event: type[happened.SessionEvent], **fields: object) -> None:
        session.trigger_event(
            event, timestamp=self._delivery.at, delivery_id=self._delivery.delivery_id, **fields
        )
