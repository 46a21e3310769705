"""Scripted conversations that only Pi has."""

from pi import PiTools
from replies import call, say
from sample_project import TEST_COMMAND
from scenarios import Scenario, step


def parallel_mixed(tools: PiTools) -> Scenario:
    """Calls side by side that succeed, fail and never run."""
    return Scenario(
        name="parallel mixed",
        prompts=("Look around in several ways at once.",),
        replies=(
            step(
                tools.shell("git status --short"),
                tools.shell(TEST_COMMAND),
                tools.read("no/such/file"),
                call("edit", path=3),
                call("NoSuchTool", anything="x"),
            ),
            step(say("I looked around.")),
        ),
    )
