"""What a daemon in trouble may cost an agent whose hooks are processes: their deadlines, plus a fifth."""

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any

from daemon_troubles import RUNS, TIMED, Trouble, median_seconds
from lab import Lab
from scenarios import greetings

from tokeneconomizer.hosts.hook.te_hook_core import COLD_DEADLINE_S, HOOK_DEADLINE_S

HOOKS = 4  # of a session of one request: start, prompt, stop and end
ALLOWANCE = 1.2  # the machine has other work, too
# The first hook waits for a slow daemon, which is left alone afterwards.
DEADLINES_S = dict.fromkeys(TIMED, HOOKS * COLD_DEADLINE_S) | {
    "slow": HOOK_DEADLINE_S + HOOKS * COLD_DEADLINE_S
}
WITHOUT_US = "without us"


def assert_within_the_hooks_deadlines(make_lab: Callable[..., Lab[Any]]) -> None:
    """The median of several runs in each trouble is within that without us and the hooks' deadlines."""
    labs = {name: make_lab(greetings) for name in (WITHOUT_US, *TIMED)}
    with ExitStack() as servers:
        for name, lab in labs.items():
            servers.enter_context(lab.server)
            if name != WITHOUT_US:
                lab.install()
            lab.sandbox.run("Say hello.")  # the very first start makes files
        medians = median_seconds({name: partial(_greet, lab, TIMED.get(name)) for name, lab in labs.items()})
    told = ", ".join(f"{name} {median:.2f} s" for name, median in medians.items())
    for name, deadlines in DEADLINES_S.items():
        assert medians[name] <= (medians[WITHOUT_US] + deadlines) * ALLOWANCE, told
    labs["slow"].program.settle()
    labs["slow"].note(f"median of {RUNS}: {told}")


def _greet(lab: Lab[Any], trouble: Trouble | None) -> float:
    # A daemon that was slow is left alone for a while: each run is to meet it anew.
    (lab.program.home / "daemon.slow").unlink(missing_ok=True)
    with trouble(lab.program, lambda: False) if trouble else nullcontext():
        seconds: float = lab.sandbox.run("Say hello.").seconds
    return seconds
