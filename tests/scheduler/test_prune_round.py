"""Proposing, waiting, writing, taking back: over timelines of a handed-in clock."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
import pytest
from sessions import shell
from transcripts import transcript_in
from workbench import NOON, Workbench

from tokeneconomizer.domain.commands import (
    Delivery,
    EndTurn,
    HookCommand,
    Place,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.projections import prune_evidence
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.scheduler.due import Reading
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.prune_changes import PruneChanged, pended, request_of
from tokeneconomizer.scheduler.prune_round import Ground, PruneRound
from tokeneconomizer.scheduler.prune_state import PruneState
from tokeneconomizer.scheduler.sweeping import PRUNE_COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.scheduler.prune_state import Checkout

HOST = "claude_code"
HOUR = timedelta(hours=1)


class Timeline:
    """A checkout that an agent works in, and rounds of the timer at moments of the test's choice."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.bench = Workbench(Home(folder / "state"))
        self.checkout = folder / "checkout"
        self.user_home = folder / "user"
        self.checkout.mkdir()
        self.user_home.mkdir()
        self.homes = AgentHomes(self.user_home)
        self.settings = Configuration({"toolprune": mode})
        self.clock = Reading(NOON, "boot-1", 1_000.0)
        self.bench.application._surroundings = replace(  # noqa: SLF001 - the place is the test's
            self.bench.application._surroundings,  # noqa: SLF001
            place_of=lambda _folder: self.place,
        )

    @property
    def place(self) -> Place:
        return Place(f"path:{self.checkout.resolve()}", str(self.checkout))

    @property
    def file(self) -> Path:
        return self.checkout / ".claude" / "settings.local.json"

    def passes(self, time: timedelta) -> None:
        """Let time pass, asleep or awake."""
        seconds = time.total_seconds()
        self.clock = Reading(self.clock.wall + time, self.clock.boot_id, self.clock.elapsed_s + seconds)

    def prompts(
        self, count: int, *calls: Call, session: str = "s", host: str = HOST, text: str = "go"
    ) -> None:
        """Let a person prompt, a minute apart; the last turn makes the calls."""
        key = SessionKey(host, session)
        for number in range(count):
            self.passes(timedelta(minutes=1))
            steps = [SubmitPrompt("", text, PromptKind.HUMAN, ("Workflow",) if "Workflow" in text else ())]
            if calls and number == count - 1:
                steps.append(ReturnCalls(calls, whole_step=True))  # type: ignore[arg-type]
            steps.append(EndTurn("done"))  # type: ignore[arg-type]
            for index, step in enumerate(steps):
                delivery = Delivery(f"{host}{session}{self.clock.wall}{index}", self.clock.wall)
                command = HookCommand(key, "", str(self.checkout), "", step)
                self.bench.application.handle(command, delivery)

    def ask(self, request: object) -> None:
        """Store what a round came to, at the test's time."""
        changed = msgspec.convert(request, PruneChanged)
        place = Place(changed.repository, changed.checkout)
        self.bench.application.prune_changed(changed.host, place, changed.changes, self.clock.wall)

    def approve(self, *names: str) -> None:
        """Let the user approve a list."""
        self.ask(request_of(HOST, self.place, [pended(names, "user")]))

    def round(self) -> Checkout:
        """Let the timer's child run once, as a process of its own would; return what is known then."""
        home = self.bench.home
        with EventLog(home.events) as log, open_view(home.views, prune_evidence) as view:
            ground = Ground(home, self.homes, self.settings, lambda: self.clock)
            PruneRound(ground, log, view, self.ask).run()
            view.catch_up(log)
            state = PruneState(view.connection(), self.settings, self.homes)
            return state.checkout(HOST, self.place.repository, str(self.checkout), self.clock.wall)

    def denied(self) -> list[str]:
        """What stands in the agent's file."""
        if not self.file.exists():
            return []
        value = json.loads(self.file.read_bytes())
        return [str(name) for name in value["permissions"]["deny"]]


@pytest.fixture
def timeline() -> Iterator[Timeline]:
    with TemporaryDirectory(prefix="te-") as folder:
        line = Timeline(Path(folder), "suggest")
        yield line
        line.bench.store.close()


def tool(name: str) -> Call:
    return replace(shell("true"), tool=name, command="")


def idle(timeline: Timeline, minutes: int = 60) -> Checkout:
    """Look once, wait, and look again."""
    timeline.round()
    timeline.passes(timedelta(minutes=minutes))
    return timeline.round()


def test_what_is_unused_long_enough_is_proposed_and_not_written(timeline: Timeline) -> None:  # S6.1, S6.3
    timeline.prompts(6, session="a")
    timeline.prompts(4, tool("Agent"), session="b")
    known = idle(timeline)
    assert known.line is not None
    assert known.line.state == "proposed"
    assert known.line.names == ["ListAgents", "ReportFindings", "ScheduleWakeup", "Skill", "Workflow"]
    assert timeline.denied() == []


@pytest.mark.parametrize(
    ("sessions", "proposes"),
    [([10], False), ([9, 1], True), ([5, 4], False), ([1] * 5, True), ([1] * 4, False)],
)
def test_ten_prompts_of_two_sessions_or_five_single_ones_are_needed(
    timeline: Timeline, sessions: list[int], *, proposes: bool
) -> None:  # S6.1
    for number, prompts in enumerate(sessions):
        timeline.prompts(prompts, session=f"s{number}")
    line = timeline.round().line
    assert (line is not None and "Workflow" in line.names) == proposes


def test_an_approved_list_is_written_after_sixty_idle_minutes(timeline: Timeline) -> None:  # S6.3
    timeline.prompts(1)
    timeline.approve("Workflow")
    idle(timeline, minutes=59)
    assert timeline.denied() == []
    timeline.passes(timedelta(minutes=1))
    known = timeline.round()
    assert timeline.denied() == ["Workflow"]
    assert known.line is not None
    assert (known.line.state, known.line.written, known.line.approved_at) == ("written", ["Workflow"], "")


def test_in_auto_nobody_is_asked(timeline: Timeline) -> None:
    timeline.settings = Configuration({"toolprune": "auto"})
    timeline.prompts(9, session="a")
    timeline.prompts(1, session="b")
    idle(timeline)
    assert "Workflow" in timeline.denied()
    assert "Bash" not in timeline.denied()


def test_off_proposes_nothing(timeline: Timeline) -> None:
    timeline.settings = Configuration({"toolprune": "off"})
    timeline.prompts(12, session="a")
    timeline.prompts(12, session="b")
    assert idle(timeline).line is None


def test_activity_with_any_agent_begins_the_wait_anew(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow")
    idle(timeline, minutes=58)
    timeline.prompts(1, session="other", host="codex")
    idle(timeline, minutes=58)
    assert timeline.denied() == []


def test_a_newer_session_file_counts_as_activity(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow")
    timeline.round()
    timeline.passes(HOUR)
    transcript = transcript_in(timeline.user_home)
    transcript.cwd = str(timeline.checkout)
    transcript.turn("ls")
    os.utime(transcript.path, (timeline.clock.wall.timestamp(),) * 2)
    timeline.round()
    assert timeline.denied() == []
    idle(timeline)
    assert timeline.denied() == ["Workflow"]


def test_a_wall_clock_set_forward_makes_nothing_due(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow")
    timeline.round()
    timeline.clock = replace(timeline.clock, wall=timeline.clock.wall + 5 * HOUR)
    timeline.round()
    assert timeline.denied() == []
    timeline.passes(HOUR)
    timeline.round()
    assert timeline.denied() == ["Workflow"]


def test_a_wall_clock_set_back_begins_the_wait_anew(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow")
    timeline.round()
    timeline.passes(timedelta(minutes=50))
    timeline.clock = replace(timeline.clock, wall=timeline.clock.wall - 5 * HOUR)
    idle(timeline, minutes=59)
    assert timeline.denied() == []
    timeline.passes(timedelta(minutes=1))
    timeline.round()
    assert timeline.denied() == ["Workflow"]


def test_after_a_reboot_the_wall_clock_counts(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow")
    timeline.round()
    timeline.clock = Reading(timeline.clock.wall + 2 * HOUR, "boot-2", 5.0)
    timeline.round()
    assert timeline.denied() == ["Workflow"]


def test_what_was_never_looked_at_before_is_waited_for_from_now_on(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow")
    timeline.passes(24 * HOUR)
    timeline.round()
    assert timeline.denied() == []


def test_activity_in_the_last_moment_stops_the_write(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow")
    timeline.round()
    timeline.passes(HOUR)
    looks = [timeline.clock, timeline.clock, timeline.clock]

    def clock() -> Reading:
        if looks:
            return looks.pop()
        if not timeline.bench.captured.entries:
            timeline.bench.log.info("a prompt comes")
            timeline.prompts(1, session="late")
        return timeline.clock

    home = timeline.bench.home
    with EventLog(home.events) as log, open_view(home.views, prune_evidence) as view:
        ground = Ground(home, timeline.homes, timeline.settings, clock)
        PruneRound(ground, log, view, timeline.ask).run()
        view.catch_up(log)
        (line,) = prune_evidence.lists(view.connection())
    assert timeline.denied() == []
    assert (line.state, line.refusal, line.names) == ("refused", "active", ["Workflow"])
    assert list(timeline.checkout.iterdir()) == []
    known = idle(timeline)
    assert known.line is not None
    assert (known.line.state, known.line.refusal) == ("written", "")
    assert timeline.denied() == ["Workflow"]


def resumed(timeline: Timeline, silent_s: float, *, expired: bool) -> None:
    step = StartSession("resume", seconds_since_last_response=silent_s, cache_expired=expired)
    command = HookCommand(SessionKey(HOST, "s"), "", str(timeline.checkout), "", step)
    timeline.bench.application.handle(command, Delivery(f"resumed{silent_s}", timeline.clock.wall))


@pytest.mark.parametrize(
    ("minutes", "silent_s", "expired", "waits"),
    [
        (60, 3.0, True, 60),
        (60, 20_000.0, True, 60),
        (60, 3.0, False, 60),
        (3, 3.0, False, 5),
        (3, 3.0, True, 3),
        (10, 400.0, False, 60),
        (60, 5_400.0, False, 90),
        (60, 1e300, False, 60),
    ],
)
def test_a_cache_that_outlived_a_silence_lengthens_the_wait_and_nothing_shortens_it(
    timeline: Timeline, minutes: int, silent_s: float, expired: bool, waits: int
) -> None:  # S7.2
    timeline.settings = Configuration({"toolprune": "suggest", "prune.idle_minutes": str(minutes)})
    timeline.prompts(1)
    resumed(timeline, silent_s, expired=expired)
    timeline.approve("Workflow")
    idle(timeline, minutes=waits - 1)
    assert timeline.denied() == []
    timeline.passes(timedelta(minutes=1))
    timeline.round()
    assert timeline.denied() == ["Workflow"]


def test_a_server_of_copilots_that_nobody_uses_is_proposed(timeline: Timeline) -> None:
    (timeline.checkout / ".mcp.json").write_text('{"mcpServers": {"lab": {}, "used": {}}}')
    timeline.prompts(9, session="a", host="copilot")
    timeline.prompts(3, replace(tool("used-alpha"), server="used"), session="b", host="copilot")
    home = timeline.bench.home
    with EventLog(home.events) as log, open_view(home.views, prune_evidence) as view:
        ground = Ground(home, timeline.homes, timeline.settings, lambda: timeline.clock)
        for _ in range(2):
            PruneRound(ground, log, view, timeline.ask).run()
        view.catch_up(log)
        (line,) = prune_evidence.lists(view.connection())
    assert (line.state, line.names) == ("proposed", ["lab"])
    assert timeline.bench.topics().count("tool_prune.catalog_recorded") == 1


def test_a_refusal_is_told_once_and_tried_again(timeline: Timeline) -> None:  # S6.6
    timeline.prompts(1)
    timeline.approve("Workflow")
    timeline.file.parent.mkdir()
    timeline.file.write_text("{")
    known = idle(timeline)
    timeline.round()
    assert known.line is not None
    assert (known.line.refusal, known.line.names) == ("not_parsable", ["Workflow"])
    assert timeline.bench.topics().count("tool_prune.deny_list_refused") == 1
    timeline.file.write_text("{}")
    timeline.round()
    assert timeline.denied() == ["Workflow"]


def test_a_tool_that_is_asked_for_comes_back_and_is_not_proposed_again(timeline: Timeline) -> None:
    timeline.settings = Configuration({"toolprune": "auto"})
    timeline.prompts(9, session="a")
    timeline.prompts(1, session="b")
    idle(timeline)
    assert "Workflow" in timeline.denied()
    timeline.prompts(1, tool("Workflow"), session="c")
    idle(timeline)
    assert "Workflow" not in timeline.denied()
    assert "Skill" in timeline.denied()
    timeline.prompts(20, session="d")
    timeline.prompts(20, session="e")
    known = idle(timeline)
    assert "Workflow" not in timeline.denied()
    verdicts = {one.unit.name: str(one.verdict) for one in known.judged}
    assert verdicts["Workflow"] == "taken_back"
    assert verdicts["Skill"] == "denied"


def test_a_tool_that_a_prompt_names_after_its_denial_comes_back(timeline: Timeline) -> None:
    timeline.prompts(1)
    timeline.approve("Workflow", "Skill")
    idle(timeline)
    assert timeline.denied() == ["Workflow", "Skill"]
    timeline.prompts(1, text="use Workflow now")
    idle(timeline)
    assert timeline.denied() == ["Skill"]


def test_a_tool_that_a_prompt_names_is_not_proposed(timeline: Timeline) -> None:  # S6.5
    timeline.prompts(1, text="use Workflow here", session="z")
    timeline.prompts(9, session="a")
    timeline.prompts(9, session="b")
    line = timeline.round().line
    assert line is not None
    assert "Workflow" not in line.names
    assert "Skill" in line.names


def test_a_tool_that_the_user_allows_or_a_skill_names_is_not_proposed(timeline: Timeline) -> None:  # S6.5
    timeline.prompts(9, session="a")
    timeline.prompts(9, session="b")
    skill = timeline.checkout / ".claude" / "skills" / "x" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: x\nallowed-tools: Bash(git:*), Workflow\n---\nText.\n")
    (timeline.checkout / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Agent"]}}')
    verdicts = {one.unit.name: str(one.verdict) for one in timeline.round().judged}
    assert (verdicts["Workflow"], verdicts["Agent"], verdicts["Skill"]) == ("allowed", "allowed", "unused")


def test_a_kept_name_is_not_proposed(timeline: Timeline) -> None:
    timeline.settings = Configuration({"prune.keep": "Workflow,Skill"})
    timeline.prompts(9, session="a")
    timeline.prompts(9, session="b")
    verdicts = {one.unit.name: str(one.verdict) for one in timeline.round().judged}
    assert (verdicts["Workflow"], verdicts["Agent"]) == ("kept", "unused")


def test_a_proposal_is_stored_once(timeline: Timeline) -> None:
    timeline.prompts(9, session="a")
    timeline.prompts(9, session="b")
    timeline.round()
    timeline.round()
    assert timeline.bench.topics().count("tool_prune.proposed") == 1


def test_the_child_process_runs_by_itself(timeline: Timeline) -> None:
    timeline.prompts(9, session="a")
    timeline.prompts(9, session="b")
    timeline.bench.store.close()
    environment = {"HOME": str(timeline.user_home), "TOKENECONOMIZER_HOME": str(timeline.bench.home.root)}
    done = subprocess.run(PRUNE_COMMAND, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tool_prune.proposed" in timeline.bench.topics()
