"""What can be done to a simulation, as data: chosen by a seed in the long run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulated_agents import LIFE, WORK
from simulated_faults import DELIVERIES

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from simulator import Simulation

SESSIONS = 3
AGENTS = 3

SECONDS_BETWEEN_CALLS = (0.003, 2.5, 40.0)
"""Hooks of one step come at once; the model thinks for seconds."""

TIME_STEPS_S = (-7200.0, -30.0, -1.0, 60.0, 7200.0, 30_000.0)
"""A clock that is set, a break, a night."""

VIEW_KILLS = ("before INSERT", "before UPDATE progress", "before COMMIT", "after COMMIT", "after BEGIN")

BATCHES = (1, 7, 50)


CIRCLES = ("fail", "read_again", "refused")
"""Each repeats with other evidence."""


@dataclass(frozen=True)
class Action:
    """One method of the simulation with its arguments."""

    name: str
    arguments: tuple[object, ...] = ()

    def perform(self, simulation: Simulation) -> None:
        simulation.perform(self.name, *self.arguments)

    def __str__(self) -> str:
        return f"simulation.{self.name}{self.arguments!r}"


def _act(chance: random.Random) -> Action:
    """Agents do most of what happens; they work more than they come and go, and go in circles."""
    thing = chance.choice([*WORK, *WORK, *LIFE, *CIRCLES * 8])
    agent = chance.choice([0, 0, 0, 1, 2])
    deliveries = tuple(chance.choice(["plain", chance.choice(DELIVERIES)]) for _ in range(2))
    seconds = chance.choice(SECONDS_BETWEEN_CALLS)
    return Action("act", (chance.choice([0, 0, 0, 1, 2]), agent, thing, deliveries, seconds))


_MAKERS: tuple[tuple[int, Callable[[random.Random], Action]], ...] = (
    (76, _act),
    (8, lambda _: Action("boot")),
    (2, lambda _: Action("boot_second")),
    (1, lambda _: Action("stop")),
    (1, lambda _: Action("kill")),
    (2, lambda _: Action("tick")),
    (2, lambda _: Action("confirmations_time_out")),
    (2, lambda chance: Action("fold", (chance.choice(BATCHES), chance.choice(BATCHES)))),
    (1, lambda chance: Action("fold_and_die", (chance.choice(VIEW_KILLS),))),
    (1, lambda _: Action("rebuild")),
    (2, lambda chance: Action("wait", (chance.choice(TIME_STEPS_S),))),
    (2, lambda chance: Action("replace_session", (chance.randrange(SESSIONS),))),
)
_WEIGHTS = [weight for weight, _ in _MAKERS]


def random_action(chance: random.Random) -> Action:
    """Any action."""
    ((_, make),) = chance.choices(_MAKERS, _WEIGHTS)
    return make(chance)
