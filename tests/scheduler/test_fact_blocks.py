from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hook_payloads import payload
from sessions import shell
from workbench import REPOSITORY, Workbench, rows_of, spooled_file

from tokeneconomizer.domain.commands import EndSession, ReturnCalls, SessionKey, StartSession
from tokeneconomizer.domain.facts.block import HEADING
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.projections import microskills
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.scheduler.fact_blocks import FactBlocks
from tokeneconomizer.scheduler.fact_policy import FactPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokeneconomizer.scheduler.application import Answer
    from tokeneconomizer.scheduler.home import Home

BLOCK = f"{HEADING}\n- Run the tests with `npm test`."


@dataclass
class Desk:
    """A workbench with what renders blocks beside it."""

    bench: Workbench
    trusted: bool = True

    def __post_init__(self) -> None:
        policy = FactPolicy(lambda: self.bench.settings, lambda _host, _checkout: self.trusted)
        self.blocks = FactBlocks(self.bench.home, self.bench.application, policy)
        self.bench.asked.gives_facts = True

    def work(self, number: int, *commands: str) -> None:
        """One session, from its start to its archive."""
        key = SessionKey("claude_code", f"session-{number}")
        self.bench.do(StartSession("startup"), key=key)
        for place, command in enumerate(commands):
            self.bench.do(
                ReturnCalls((shell(command, call_id=f"{number}-{place}"),), whole_step=True), key=key
            )
        self.bench.do(EndSession("other"), key=key)

    def start(self, number: int, source: str = "startup") -> Answer:
        key = SessionKey("claude_code", f"session-{number}")
        return self.bench.do(StartSession(source), key=key)

    def render(self) -> int:
        """Render until nothing is due; return how many repositories were."""
        rendered = 0
        while found := self.keep_up():
            rendered += found
        return rendered

    def keep_up(self, *, may_go_on: bool = True) -> int:
        with EventLog(self.bench.home.events) as log, open_view(self.bench.home.views, microskills) as view:
            view.catch_up(log)
            return self.blocks.keep_up(view.connection(), self.bench.at, lambda: may_go_on)

    def reached(self) -> list[object]:
        """Return the blocks that reached their agents, as the view has them."""
        with EventLog(self.bench.home.events) as log, open_view(self.bench.home.views, microskills) as view:
            view.catch_up(log)
            return [text for (text,) in view.connection().execute("SELECT text FROM injections")]

    def stored(self, topic: str, field: str) -> list[object]:
        query = (
            "SELECT json_extract(CAST(state AS TEXT), ?) FROM stored_events WHERE topic = ? ORDER BY rowid"
        )
        return [value for (value,) in rows_of(self.bench.home.events, query, f"$.{field}", topic)]


@pytest.fixture
def desk(home: Home) -> Iterator[Desk]:
    with Workbench(home) as bench:
        yield Desk(bench)


def test_a_block_is_rendered_once_a_session_was_archived_and_then_fixed(desk: Desk) -> None:
    desk.work(1, "npm test")
    assert desk.render() == 1
    assert desk.stored("microskills.block_rendered", "text") == []
    desk.work(2, "npm test")
    desk.render()
    assert desk.stored("microskills.block_rendered", "text") == [BLOCK]
    (facts,) = desk.stored("microskills.block_rendered", "facts")
    assert json.loads(str(facts))[0]["sessions"] == ["claude_code session-1", "claude_code session-2"]
    desk.work(3, "npm test")
    desk.render()
    assert desk.stored("microskills.block_rendered", "text") == [BLOCK]
    assert desk.render() == 0


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_a_start_without_an_earlier_context_is_given_the_block(desk: Desk, source: str) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    answer = desk.start(3, source)
    assert answer.decision.context == BLOCK
    assert [said.topic for said in answer.said] == ["session.facts_injected"]
    assert desk.stored("session.facts_injected", "text") == [BLOCK]
    assert desk.stored("session.facts_injected", "block_version") == [2]


@pytest.mark.parametrize("source", ["resume", "fork", "sub_agent", "unheard of"])
def test_a_session_that_replays_its_context_is_given_nothing(desk: Desk, source: str) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    desk.start(3)
    assert desk.start(3, source).decision.context == ""
    assert desk.start(4, source).decision.context == ""
    assert len(desk.stored("session.facts_injected", "text")) == 1


def test_after_compaction_the_block_is_given_again_and_twice_the_same_start_once(desk: Desk) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    desk.start(3)
    assert desk.start(3, "compact").decision.context == BLOCK
    desk.bench.at = desk.bench.at.replace(second=desk.bench.at.second - 10)
    assert desk.start(3, "compact").decision.context == ""


def test_without_trust_nothing_is_given(desk: Desk) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    desk.bench.asked.gives_facts = False
    assert desk.start(3).decision.context == ""
    assert desk.stored("session.facts_injected", "text") == []


def test_what_did_not_arrive_is_taken_back(desk: Desk) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    answer = desk.start(3)
    desk.bench.application.delivery_failed(answer.stream_id, answer.said, desk.bench.at, "late")
    assert desk.stored("session.delivery_failed", "failed_topic") == ["session.facts_injected"]


def starts_of(desk: Desk) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(desk.bench.home.starts.read_text())["checkouts"]
    return found


def spooled_start(desk: Desk, reply: bytes, delivery_id: str = "") -> None:
    start = payload("SessionStart", source="startup", session_id="session-9")
    spooled_file(
        desk.bench.home, start, time_ns=desk.bench.time_ns, reply=reply, delivery_id=delivery_id or "a" * 32
    )
    assert desk.bench.spool.drain(desk.bench.calls) == 1


def reply_with(text: str) -> bytes:
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output}).encode()


def test_what_the_hook_client_gave_from_disk_is_stored_as_it_was(desk: Desk) -> None:
    spooled_start(desk, reply_with("an older block"))
    assert desk.stored("session.facts_injected", "text") == ["an older block"]
    assert desk.stored("session.facts_injected", "block_version") == [0]


@pytest.mark.parametrize("reply", [b"{}", b"", b"[]", b'{"hookSpecificOutput": {"additionalContext": 1}}'])
def test_a_start_that_was_given_nothing_is_none_with_facts(desk: Desk, reply: bytes) -> None:
    spooled_start(desk, reply)
    assert desk.stored("session.facts_injected", "text") == []


@pytest.mark.parametrize("is_heard_of_first", [True, False])
def test_a_late_answer_is_taken_back_once_and_what_was_given_instead_is_stored_once(
    desk: Desk, *, is_heard_of_first: bool
) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    key, delivery_id = SessionKey("claude_code", "session-9"), "b" * 32
    answer = desk.bench.do(StartSession("startup"), key=key, delivery_id=delivery_id)
    heard_nothing = partial(desk.bench.application.delivery_failed, answer.stream_id, answer.said)
    if is_heard_of_first:
        heard_nothing(desk.bench.at, "late")
    spooled_start(desk, reply_with("an older block"), delivery_id)
    heard_nothing(desk.bench.at, "late")
    assert desk.stored("session.facts_injected", "text") == [BLOCK, "an older block"]
    assert len(desk.stored("session.delivery_failed", "reason")) == 1
    assert desk.reached() == ["an older block"]


def test_a_repository_that_is_not_trusted_has_no_start_on_disk(desk: Desk) -> None:
    desk.trusted = False
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    assert starts_of(desk) == {}


def test_the_block_lies_where_the_checkout_leads_to(desk: Desk) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    home = desk.bench.home
    names = starts_of(desk)["/home/dev/project"]
    assert set(names) == set(HOSTS)
    for path in (home.repositories / name for name in names.values()):
        assert path.read_text() == BLOCK
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_fact_that_the_user_retired_leaves_the_next_block_and_the_disk(desk: Desk) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    (facts,) = desk.stored("microskills.block_rendered", "facts")
    fact_id = json.loads(str(facts))[0]["fact"]
    desk.bench.application.fact_wished(REPOSITORY, desk.bench.at, fact_id=fact_id, pinned=False)
    desk.render()
    assert desk.stored("microskills.block_rendered", "text") == [BLOCK, ""]
    assert desk.start(3).decision.context == ""
    assert starts_of(desk) == {}
    desk.bench.application.fact_wished(REPOSITORY, desk.bench.at, fact_id=fact_id, pinned=True)
    desk.render()
    assert desk.start(4).decision.context == BLOCK


def test_the_block_is_as_long_as_the_user_wants(desk: Desk) -> None:
    commands = ("npm test", "npm run build", "npm run lint", "npm run typecheck", "npm run check")
    desk.bench.settings = Configuration(everywhere={"facts.block_characters": 200})
    desk.work(1, *commands)
    desk.work(2, *commands)
    desk.render()
    (text,) = desk.stored("microskills.block_rendered", "text")
    assert len(str(text)) <= 200
    assert str(text).startswith(BLOCK)


@pytest.mark.parametrize("names", [{"test": "vitest"}, {"build": "x"}])
def test_the_files_of_the_checkout_are_asked(desk: Desk, tmp_path: Path, names: dict[str, str]) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": names}))
    desk.bench.asked.checkout = str(tmp_path)
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    assert desk.stored("microskills.block_rendered", "text") == ([BLOCK] if "test" in names else [])


def test_what_is_told_from_disk_follows_the_configuration(desk: Desk) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    assert starts_of(desk) != {}
    desk.bench.settings = Configuration(everywhere={"microskills": "off"})
    desk.render()
    assert starts_of(desk) == {}
    desk.bench.settings = Configuration()
    desk.render()
    assert starts_of(desk) != {}


def test_where_time_is_short_one_repository_is_looked_at_and_the_others_later(desk: Desk) -> None:
    for repository in ("example.org/a/a", "example.org/b/b"):
        desk.bench.asked.repository = repository
        desk.work(ord(repository[-1]), "npm test")
    assert [desk.keep_up(may_go_on=False) for _ in range(3)] == [1, 1, 0]


def test_a_start_on_disk_names_the_configuration_that_it_was_written_under(desk: Desk) -> None:
    desk.work(1, "npm test")
    desk.work(2, "npm test")
    desk.render()
    starts, config = desk.bench.home.starts, desk.bench.home.config
    assert json.loads(starts.read_text())["configuration"] == []
    config.write_text("microskills: envfacts\n")
    desk.render()
    found = config.stat()
    assert json.loads(starts.read_text())["configuration"] == [found.st_mtime_ns, found.st_size]
