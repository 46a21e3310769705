from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console_runs import keep, keep_events, te
from sessions import Telling, shell

from tokeneconomizer.domain.commands import SessionKey
from tokeneconomizer.domain.facts.block import HEADING
from tokeneconomizer.domain.facts.proposed import Proposal, shown_as_json
from tokeneconomizer.domain.facts.proposer import Returned, borne_out
from tokeneconomizer.domain.facts.purposes import Purpose
from tokeneconomizer.domain.facts.watching import Watched
from tokeneconomizer.domain.microskills import Microskills
from tokeneconomizer.domain.session import Session
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

SENTENCE = "`pytest` is not found here: use `uv run pytest`."
BLOCK = f"{HEADING}\n- {SENTENCE}\n- Run the tests with `uv run pytest`."


def told(number: int) -> Telling:
    telling = Telling(key=SessionKey("claude_code", f"session-{number}"))
    telling.start()
    telling.prompt()
    telling.step(shell("pytest", "Exit code 1\nbash: pytest: command not found", failed=True))
    telling.step(shell("uv run pytest", "== 3 passed in 0.1s =="))
    telling.stop()
    return telling


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = https://example.org/team/project.git\n'
    )
    (folder / "sub").mkdir()
    return folder


@pytest.fixture
def kept(home: Home) -> Home:
    keep(home, told(1), told(2))
    return home


def listed(checkout: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(te("facts", "list", "--json", "--repo", str(checkout)).out)
    return found


@pytest.mark.usefixtures("kept")
def test_facts_are_listed_for_a_clone_and_a_folder_in_it(checkout: Path) -> None:
    assert [fact["sentence"] for fact in listed(checkout)] == [
        SENTENCE,
        "Run the tests with `uv run pytest`.",
    ]
    assert listed(checkout / "sub") == listed(checkout)
    done = te("facts", "list", "--repo", str(checkout))
    assert done.out.splitlines()[0].split() == [
        "fact",
        "state",
        "user",
        "source",
        "told",
        "sessions",
        "what",
        "it",
        "says",
    ]
    assert SENTENCE in done.out


@pytest.mark.usefixtures("kept")
def test_a_fact_is_shown_with_its_evidence_and_what_it_was_good_for(checkout: Path) -> None:
    fact = listed(checkout)[0]
    shown = te("facts", "show", str(fact["id"])[:4], "--repo", str(checkout)).out
    assert "failed calls when told      no session yet" in shown
    assert "failed calls when not told  2 in 2 sessions" in shown
    assert "claude_code session-2" in shown
    as_json = json.loads(te("facts", "show", str(fact["id"]), "--json", "--repo", str(checkout)).out)
    assert as_json == fact
    assert as_json["evidence"][0] == {
        "session": "claude_code session-1",
        "started_at": "2026-01-05T09:00:10+00:00",
        "positions": [4, 6],
    }


@pytest.mark.usefixtures("kept")
def test_a_fact_is_retired_and_pinned_by_its_id(checkout: Path) -> None:
    fact_id = str(listed(checkout)[0]["id"])
    assert te("facts", "retire", fact_id, "--repo", str(checkout)).status == 0
    retired = next(fact for fact in listed(checkout) if fact["id"] == fact_id)
    assert (retired["wish"], retired["told"]) == ("retired", False)
    assert te("facts", "pin", fact_id, "--repo", str(checkout)).status == 0
    assert (listed(checkout)[0]["id"], listed(checkout)[0]["wish"]) == (fact_id, "pinned")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("fact_id", ["", "zzzz"])
def test_a_fact_that_is_not_there_is_an_error_in_words(checkout: Path, fact_id: str) -> None:
    done = te("facts", "show", fact_id, "--repo", str(checkout))
    assert done.status == 1
    assert "`te facts list` shows those of a repository" in done.err


@pytest.mark.usefixtures("kept")
def test_the_block_is_printed_with_why_it_is_not_told(checkout: Path) -> None:
    done = te("facts", "block", "--repo", str(checkout))
    assert done.out == BLOCK + "\n"
    assert "no block is rendered yet" in done.err
    assert "claude_code: not told, because the repository is not trusted" in done.err
    assert te("config", "set", "trust", "yes", "--repo", str(checkout)).status == 0
    assert "not told" not in te("facts", "block", "--repo", str(checkout)).err
    shown = json.loads(te("facts", "block", "--json", "--repo", str(checkout)).out)
    assert shown == {
        "repository": "example.org/team/project",
        "version": 0,
        "text": "",
        "next_text": BLOCK,
        "withheld": {},
    }


@pytest.mark.usefixtures("home")
def test_a_repository_without_sessions_says_so(checkout: Path) -> None:
    done = te("facts", "list", "--repo", str(checkout))
    assert (done.status, done.out) == (0, "")
    assert "`te import` reads the history" in done.err
    assert te("facts", "list", "--json", "--repo", str(checkout)).out.strip() == "[]"


def proposed(home: Home, telling: Telling) -> None:
    """The daemon's part: a side call proposed a fact from a session."""
    stream = Session.stream_id(telling.key).hex
    with EventLog(home.events) as log:
        calls = [row for row in log.entries() if row.topic == "session.tool_returned"]
    assert isinstance(calls[-1], EventRow)
    returned = Returned(calls[-1].position, "./x world", background=False, data=calls[-1].data)
    proposal = Proposal(Purpose.BUILD, "./x world")
    (one,) = borne_out([proposal], Watched("/home/dev/project", stays=True), [returned])
    repository = Microskills.open("example.org/team/project", telling.at)
    repository.trigger_event(
        Microskills.FactProposed,
        timestamp=telling.at,
        fact_id=one.fact_id,
        text=one.text,
        side_call_id=stream,
        purpose="build",
        command="./x world",
        instead_of="",
        shown=shown_as_json(one.shown),
    )
    keep_events(home, repository.collect_events())


def world(number: int) -> Telling:
    telling = Telling(key=SessionKey("claude_code", f"session-{number}"))
    telling.start()
    telling.step(shell("./x world"))
    return telling


def test_a_proposed_fact_says_so_and_is_told_only_where_proposals_are(home: Home, checkout: Path) -> None:
    (checkout / "x").touch()
    first = world(1)
    keep(home, first)
    proposed(home, first)
    keep(home, world(2))
    (fact,) = listed(checkout)
    assert (fact["sentence"], fact["state"]) == ("Build with `./x world`.", "confirmed")
    assert (fact["proposed"], fact["told"]) == (True, False)
    te("config", "set", "microskills", "full", "--repo", str(checkout))
    (fact,) = listed(checkout)
    assert (fact["proposed"], fact["told"]) == (True, True)
    shown = te("facts", "show", str(fact["id"]), "--repo", str(checkout)).out
    assert f"proposed by a side call, event {fact['proposed_by']}" in shown
    assert "Build with `./x world`." in te("audit", "list", "--kind", "microskills.fact_proposed").out
