"""What the scripted model does in Copilot CLI, whose tools want absolute paths: made for a project."""

from pathlib import Path

from prompt_blocks import JsonObject
from replies import Match, Reply, call, say
from sample_project import FIXED_BODY, PRICING_PATH, TEST_COMMAND
from scenarios import GREEN_TESTS, ROUNDING_LINE, SUBAGENT_PROMPT, Scenario, step

LOG_SECONDS = 0.5  # Copilot writes its log some 0.1 s behind; a real model takes longer than this to answer
DENIED_COMMAND = "git push --force"


def bash(command: str) -> JsonObject:
    """Return a call of the shell."""
    return call("bash", command=command, description="Run it")


def run_tests() -> JsonObject:
    """Return the call that runs the sample project's tests."""
    return bash(TEST_COMMAND)


def view(project: Path, name: str = PRICING_PATH) -> JsonObject:
    """Return a call that reads a file."""
    return call("view", path=str(project / name))


def edit(project: Path, old: str, new: str) -> JsonObject:
    """Return a call that edits the file with the bug."""
    return call("edit", path=str(project / PRICING_PATH), old_str=old, new_str=new)


def looping(project: Path) -> Scenario:
    """The same test fails in the same way throughout: the edits touch something else, or nothing."""
    return Scenario(
        name="looping",
        prompts=("The test for half a cent fails. Please fix the rounding.",),
        replies=(
            step(say("I will run the tests first."), run_tests()),
            step(view(project)),
            step(edit(project, "VAT_RATE = 0.19\n", "VAT_RATE = 0.190\n")),
            step(run_tests()),
            step(say("Maybe it was a fluke; once more."), run_tests()),
            step(
                edit(
                    project,
                    'in euros and cents."""\n    return round(total',
                    'rounded."""\n    return round(total',
                )
            ),
            step(run_tests()),
            step(run_tests()),
            step(edit(project, "round(total / people, 2)", "round(total / people, ndigits=2)")),
            *(step(run_tests()) for _ in range(4)),
            step(say("The test still fails.")),
        ),
    )


def failing_looks(project: Path) -> Scenario:
    """The same file is looked for again and again, and is not there."""
    return Scenario(
        name="failing looks",
        prompts=("Read the notes.",),
        replies=(
            *(step(view(project, "notes.md")) for _ in range(5)),
            step(say("There are no notes.")),
        ),
    )


def honest_fix(project: Path) -> Scenario:
    """The bug is found and fixed."""
    return Scenario(
        name="honest fix",
        prompts=("The test for half a cent fails. Please fix the rounding.",),
        replies=(
            step(run_tests()),
            step(view(project)),
            step(
                edit(
                    project,
                    '"""Prices of a basket."""\n',
                    '"""Prices of a basket."""\n\nfrom decimal import ROUND_HALF_UP, Decimal\n',
                )
            ),
            step(edit(project, ROUNDING_LINE, FIXED_BODY)),
            step(run_tests()),
            step(say("Fixed: the amount is rounded with decimals, half a cent up.")),
        ),
    )


def mixed(project: Path) -> Scenario:
    """Calls side by side that succeed, fail and are refused, and one that is refused right before the end."""
    return Scenario(
        name="parallel mixed",
        prompts=("Look around in several ways at once.",),
        replies=(
            step(
                bash("git status --short"), run_tests(), view(project, "no/such/file"), bash(DENIED_COMMAND)
            ),
            Reply(blocks=(bash("git log --oneline"),), delay_seconds=LOG_SECONDS),
            step(bash(DENIED_COMMAND)),
            Reply(blocks=(say("I looked around."),), delay_seconds=LOG_SECONDS),
        ),
    )


HELPER = {
    "agent_type": "general-purpose",
    "description": "Find the failing test",
    "prompt": SUBAGENT_PROMPT,
    "name": "helper",
    "mode": "sync",
}

_IN_SUBAGENT = Match(first_user=SUBAGENT_PROMPT)


def sub_agent(project: Path) -> Scenario:
    """A helper works in between."""
    return Scenario(
        name="sub-agent",
        prompts=("Ask a helper which test fails.",),
        replies=(
            step(run_tests(), match=_IN_SUBAGENT),
            step(bash("git log --oneline"), view(project), match=_IN_SUBAGENT),
            step(say("test_half_a_cent_is_rounded_up fails."), match=_IN_SUBAGENT),
            step({"type": "tool_use", "name": "task", "input": HELPER}),
            step(run_tests()),
            step(say("The helper found it: half a cent is not rounded up.")),
        ),
    )


def two_prompts(_project: Path) -> Scenario:
    """One command a prompt; the second prompt comes in a new process that resumes the session."""
    return Scenario(
        name="resume",
        prompts=("Which test fails?", "And what does git say?"),
        replies=(
            step(run_tests()),
            step(say("test_half_a_cent_is_rounded_up fails.")),
            step(bash("git status --short")),
            step(say("Nothing is changed.")),
        ),
    )


def taught(_project: Path) -> Scenario:
    """Sessions that find out how the tests run."""
    runs = (step(bash(GREEN_TESTS)), step(say("They pass.")))
    return Scenario(
        name="facts",
        prompts=("Run some tests.", "Run some tests once more."),
        replies=(*runs, *runs, *runs, *runs, *runs),
    )


def greetings(_project: Path) -> Scenario:
    """Sessions of one request each."""
    return Scenario(name="greetings", prompts=("Say hello.",), replies=(step(say("Hello.")),) * 6)


def asks_a_server(_project: Path) -> Scenario:
    """A call of a server's tool, then sessions of one request each."""
    hello = step(say("Hello."))
    return Scenario(
        name="MCP servers", prompts=(), replies=(step(call("lab-look")), hello, hello, hello, hello)
    )


def asked(_project: Path) -> Scenario:
    """One question without tools."""
    answer = Reply(blocks=(say('{"verdict": "stuck"}'),), match=Match(has_tools=False))
    return Scenario(name="side call", prompts=(), replies=(answer,))
