"""Scripted conversations that only opencode has."""

from opencode import OpencodeTools
from replies import call, say
from sample_project import TEST_COMMAND
from scenarios import FIX, Scenario, step


def looping_on_a_failed_edit(tools: OpencodeTools) -> Scenario:
    """The same edit fails again and again, and nothing that succeeds comes in between."""
    return Scenario(
        name="looping on a failed edit",
        prompts=(FIX,),
        replies=(
            *(step(tools.edit("this text is not in the file", "x")) for _ in range(8)),
            step(say("It cannot be edited.")),
        ),
    )


def parallel_mixed(tools: OpencodeTools) -> Scenario:
    """Calls side by side that succeed, fail and never run."""
    return Scenario(
        name="parallel mixed",
        prompts=("Look around in several ways at once.",),
        replies=(
            step(tools.read()),
            step(
                tools.shell("git status --short"),
                tools.shell(TEST_COMMAND),
                tools.edit("this text is not in the file", "x"),
                call("no_such_tool", anything="x"),
            ),
            step(say("I looked around.")),
        ),
    )
