from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sessions import MAIN, Telling

from tokeneconomizer.domain.commands import Delivery, HookCommand, Place, StartSession
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.handle import Outcome, Rules, handle
from tokeneconomizer.domain.microskills import GivenBlock
from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.session_events import DeliveryFailed, FactsInjected
from tokeneconomizer.domain.session_snapshot import SessionSnapshot

if TYPE_CHECKING:
    from datetime import datetime

RULES = Rules(block_at=lambda place: GivenBlock(f"facts of {place.repository}", 7))
TEXT = "facts of example.org/team/project"


def spooled(telling: Telling, delivery_id: str, given: str) -> Outcome:
    """A start that the hook client answered by itself."""
    outcome = handle(
        telling.session,
        HookCommand(MAIN, "SessionStart", "/home/dev/project", "", StartSession("startup")),
        Delivery(delivery_id, telling.at, answered=True, given=given),
        lambda: Place("example.org/team/project", "/home/dev/project"),
        telling.rules,
        Hasher(b"a key for tests"),
    )
    telling.session = outcome.session or telling.session
    if telling.session is not None:
        telling.events += telling.session.collect_events()  # type: ignore[arg-type]
    return outcome


def injected(telling: Telling) -> list[tuple[str, int]]:
    return [(event.text, event.block_version) for event in telling.events if isinstance(event, FactsInjected)]


def test_a_start_is_given_the_block_of_its_repository() -> None:
    telling = Telling(rules=RULES)
    assert telling.start().decision.context == TEXT
    assert injected(telling) == [(TEXT, 7)]


@pytest.mark.parametrize(("given", "version"), [(TEXT, 7), ("what lay on disk", 0)])
def test_what_was_given_from_disk_is_stored_and_not_given_again(given: str, version: int) -> None:
    telling = Telling(rules=RULES)
    outcome = spooled(telling, "delivery-1", given)
    assert injected(telling) == [(given, version)]
    assert telling.topics() == ["started", "facts_injected"]
    assert outcome.session is not None


def test_an_answer_that_said_nothing_gave_no_facts() -> None:
    telling = Telling(rules=RULES)
    spooled(telling, "delivery-1", "")
    assert injected(telling) == []


def reassembled(telling: Telling, source: str) -> str:
    """What a start of an agent is given that puts its context together anew each time."""
    return telling.tell(StartSession(source, reassembles=True)).decision.context


def test_an_agent_that_reassembles_its_context_gets_the_bytes_of_the_sessions_start_each_time() -> None:
    telling = Telling(rules=RULES)
    assert reassembled(telling, "startup") == TEXT
    telling.rules = Rules(block_at=lambda _: GivenBlock("facts that changed since", 8))
    assert [reassembled(telling, source) for source in ("resume", "compact", "reload")] == [TEXT] * 3
    telling.rules = Rules()
    assert reassembled(telling, "resume") == TEXT
    assert telling.session is not None
    restored = Session.restored(SessionSnapshot.of(telling.session))
    assert restored.first_facts == telling.session.first_facts
    assert injected(telling) == [(TEXT, 7)]


def test_what_never_arrived_at_its_start_is_not_what_the_session_was_given() -> None:
    telling = Telling(rules=RULES)
    telling.start(delivery_id="delivery-1")
    assert telling.session is not None
    taken_back(telling.session, telling.at)
    assert reassembled(telling, "resume") == ""


def test_a_session_that_started_without_facts_is_given_none_later() -> None:
    telling = Telling()
    telling.start()
    telling.rules = RULES
    assert reassembled(telling, "resume") == ""


def test_a_daemon_that_was_too_late_is_taken_back_and_what_was_given_instead_is_stored() -> None:
    telling = Telling(rules=RULES)
    telling.start(delivery_id="delivery-1")
    spooled(telling, "delivery-1", "what lay on disk")
    assert telling.topics() == ["started", "facts_injected", "delivery_failed", "facts_injected"]
    assert injected(telling)[-1] == ("what lay on disk", 0)


def test_what_was_taken_back_before_the_spooled_copy_came_is_stored_as_it_was_given() -> None:
    telling = Telling(rules=RULES)
    telling.start(delivery_id="delivery-1")
    assert telling.session is not None
    taken_back(telling.session, telling.at)
    for _ in range(3):
        spooled(telling, "delivery-1", "what lay on disk")
    assert telling.topics() == ["started", "facts_injected", "delivery_failed", "facts_injected"]
    assert injected(telling)[-1] == ("what lay on disk", 0)
    assert reassembled(telling, "resume") == "what lay on disk"


def test_a_spooled_copy_that_comes_twice_is_stored_once() -> None:
    telling = Telling(rules=RULES)
    telling.start(delivery_id="delivery-1")
    for _ in range(3):
        spooled(telling, "delivery-1", "what lay on disk")
    assert telling.topics() == ["started", "facts_injected", "delivery_failed", "facts_injected"]


def taken_back(session: Session, at: datetime) -> None:
    """The daemon heard no confirmation of the facts that it gave."""
    session.trigger_event(
        DeliveryFailed,
        timestamp=at,
        delivery_id="",
        failed_topic="session.facts_injected",
        failed_version=2,
        reason="late",
    )


ANEW = ("startup", "clear", "compact")
REPLAYED = ("resume", "fork", "reload", "unheard of")

histories = st.lists(
    st.tuples(st.sampled_from([*ANEW, *REPLAYED]), st.sampled_from(["", "facts", "other facts"])),
    min_size=1,
    max_size=12,
)
"""How a session is started again and again, with the block of its repository at each time."""


def given_at_each(history: list[tuple[str, str]], *, reassembles: bool) -> tuple[list[str], Telling]:
    telling = Telling()
    texts = []
    for source, block in history:
        telling.rules = Rules(block_at=lambda _, text=block: GivenBlock(text, 1))
        step = StartSession(source, reassembles=reassembles)
        texts.append(telling.tell(step).decision.context)
        if telling.session is not None:
            # As it is after the daemon was started again.
            telling.session = Session.restored(SessionSnapshot.of(telling.session))
    return texts, telling


@given(histories)
def test_an_agent_that_reassembles_gets_the_same_bytes_at_every_start_whatever_becomes_of_the_facts(
    history: list[tuple[str, str]],
) -> None:
    texts, telling = given_at_each(history, reassembles=True)
    first = next((place for place, (source, block) in enumerate(history) if block and source in ANEW), None)
    if first is None:
        assert set(texts) == {""}
        return
    text = history[first][1]
    assert texts == [""] * first + [text] * (len(history) - first)
    assert [found for found, _ in injected(telling)] == [text]


@given(histories)
def test_an_agent_that_replays_its_context_gets_facts_only_where_it_begins_anew(
    history: list[tuple[str, str]],
) -> None:
    texts, telling = given_at_each(history, reassembles=False)
    assert texts == [block if source in ANEW else "" for source, block in history]
    assert [found for found, _ in injected(telling)] == [text for text in texts if text]
