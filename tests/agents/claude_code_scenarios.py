"""Scripted conversations that only Claude Code has, with its tools."""

from claude_code import ClaudeCodeTools
from replies import OVERLOADED, Match, call, say
from sample_project import TEST_COMMAND
from scenarios import Scenario, runs_green_tests, step, taught

_SUMMARY = "Your task is to create a detailed summary"


def parallel_mixed(tools: ClaudeCodeTools) -> Scenario:
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
                call("NoSuchTool", anything="x"),
            ),
            step(say("I looked around.")),
        ),
    )


def taught_and_compacted(tools: ClaudeCodeTools) -> Scenario:
    """As `taught`; the agent may be told to sum up."""
    summary = step(say("<summary>Tests were run.</summary>"), match=Match(has_tools=None, anywhere=_SUMMARY))
    return Scenario(
        "facts", taught(tools).prompts, (*runs_green_tests(tools) * 2, summary, *runs_green_tests(tools) * 2)
    )


def overloaded_turn(tools: ClaudeCodeTools) -> Scenario:
    """An overloaded model: the turn ends with an error and without a stop."""
    return Scenario("overloaded", ("Which test fails?",), (step(tools.shell(TEST_COMMAND)), OVERLOADED))


def interrupted(tools: ClaudeCodeTools) -> Scenario:
    """In a terminal: the user presses Esc while the command runs, and says something else."""
    return Scenario(
        name="interrupted",
        prompts=("Wait a little.", "Never mind."),
        replies=(step(tools.shell("tail -f /dev/null")), step(say("All right."))),
    )
