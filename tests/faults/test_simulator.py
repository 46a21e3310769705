"""A home under faults; what does not hold is shrunk to its shortest story (S1.1, S2.11, S2.12, S4.6)."""

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from simulated_actions import (
    AGENTS,
    BATCHES,
    CIRCLES,
    SECONDS_BETWEEN_CALLS,
    SESSIONS,
    TIME_STEPS_S,
    VIEW_KILLS,
    random_action,
)
from simulated_agents import THINGS
from simulated_faults import DELIVERIES
from simulator import MEMORY_FOLDER, Simulation

sessions = st.integers(0, SESSIONS - 1)
deliveries = st.tuples(st.sampled_from(DELIVERIES), st.sampled_from(DELIVERIES))
batches = st.sampled_from(BATCHES)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="te-", dir=MEMORY_FOLDER)


class House(RuleBasedStateMachine):
    """Every rule ends with the checks of the simulation."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = ExitStack()

    @initialize()
    def begin(self) -> None:
        folder = self.opened.enter_context(temporary_folder())
        self.simulation = self.opened.enter_context(Simulation(Path(folder)))

    @rule(
        session=sessions,
        agent=st.integers(0, AGENTS - 1),
        thing=st.sampled_from(THINGS),
        deliveries=deliveries,
        seconds=st.sampled_from(SECONDS_BETWEEN_CALLS),
    )
    def act(self, session: int, agent: int, thing: str, deliveries: tuple[str, str], seconds: float) -> None:
        self.simulation.act(session, agent, thing, deliveries, seconds)

    @rule(session=sessions, thing=st.sampled_from(CIRCLES), times=st.integers(3, 9), deliveries=deliveries)
    def go_in_circles(self, session: int, thing: str, times: int, deliveries: tuple[str, str]) -> None:
        for _ in range(times):
            self.simulation.act(session, 0, thing, deliveries, seconds=2.5)

    @rule()
    def boot(self) -> None:
        self.simulation.boot()

    @rule()
    def boot_second(self) -> None:
        self.simulation.boot_second()

    @precondition(lambda self: self.simulation.daemon is not None)
    @rule()
    def stop(self) -> None:
        self.simulation.stop()

    @precondition(lambda self: self.simulation.daemon is not None)
    @rule()
    def kill(self) -> None:
        self.simulation.kill()

    @rule()
    def tick(self) -> None:
        self.simulation.tick()

    @rule()
    def confirmations_time_out(self) -> None:
        self.simulation.confirmations_time_out()

    @rule(batch=batches, most=batches)
    def fold(self, batch: int, most: int) -> None:
        self.simulation.fold(batch, most)

    @rule(moment=st.sampled_from(VIEW_KILLS))
    def fold_and_die(self, moment: str) -> None:
        self.simulation.fold_and_die(moment)

    @rule()
    def rebuild(self) -> None:
        self.simulation.rebuild()

    @rule(seconds=st.sampled_from(TIME_STEPS_S))
    def wait(self, seconds: float) -> None:
        self.simulation.wait(seconds)

    @rule(session=sessions)
    def replace_session(self, session: int) -> None:
        self.simulation.replace_session(session)

    def teardown(self) -> None:
        try:
            self.simulation.finish()
        finally:
            self.opened.close()


House.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    # A home with its store takes longer to make than what Hypothesis is used to.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
test_whatever_happens_to_a_home_everything_acknowledged_is_stored_once = House.TestCase


@pytest.mark.parametrize("seed", range(4))
def test_a_long_life_with_many_faults_ends_whole(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    with temporary_folder() as folder, Simulation(Path(folder)) as simulation:
        for _ in range(200):
            random_action(chance).perform(simulation)
        simulation.finish()
    assert simulation.counts.acknowledged > 150
    assert simulation.disk.fired > 5


def test_a_turn_of_a_thousand_failing_calls_keeps_its_session_small() -> None:
    with temporary_folder() as folder, Simulation(Path(folder)) as simulation:
        for number in range(1_000):
            thing = ("fail_otherwise", "read_again", "change", "parallel")[number % 4]
            simulation.act(0, 0, thing, ("plain", "plain"), seconds=2.5)
        simulation.finish()
    assert simulation.history.counts["session.tool_returned"] == 1_250
