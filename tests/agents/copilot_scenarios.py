"""Scripted conversations that only Copilot CLI has."""

from copilot import CopilotTools
from replies import Match, Reply, call, say
from sample_project import TEST_COMMAND
from scenarios import Scenario, step

LOG_SECONDS = 0.5  # Copilot writes its log some 0.1 s behind; a real model takes longer than this to answer
DENIED_COMMAND = "git push --force"


def failing_looks(tools: CopilotTools) -> Scenario:
    """The same file is looked for again and again, and is not there."""
    return Scenario(
        name="failing looks",
        prompts=("Read the notes.",),
        replies=(*(step(tools.read("notes.md")) for _ in range(5)), step(say("There are no notes."))),
    )


def mixed(tools: CopilotTools) -> Scenario:
    """Calls side by side that succeed, fail and are refused, and one that is refused right before the end."""
    return Scenario(
        name="parallel mixed",
        prompts=("Look around in several ways at once.",),
        replies=(
            step(
                tools.shell("git status --short"),
                tools.shell(TEST_COMMAND),
                tools.read("no/such/file"),
                tools.shell(DENIED_COMMAND),
            ),
            Reply(blocks=(tools.shell("git log --oneline"),), delay_seconds=LOG_SECONDS),
            step(tools.shell(DENIED_COMMAND)),
            Reply(blocks=(say("I looked around."),), delay_seconds=LOG_SECONDS),
        ),
    )


def asks_a_server(_tools: CopilotTools) -> Scenario:
    """A call of a server's tool, then sessions of one request each."""
    hello = Reply(blocks=(say("Hello."),), times=None)
    return Scenario(name="MCP servers", prompts=(), replies=(step(call("lab-look")), hello))


def asked(_tools: CopilotTools) -> Scenario:
    """One question without tools."""
    answer = Reply(blocks=(say('{"verdict": "stuck"}'),), match=Match(has_tools=False))
    return Scenario(name="side call", prompts=(), replies=(answer,))
