"""Scripted conversations that only Codex has: with its own tools, or (code mode) scripts that call them."""

from codex import CodexTools
from replies import Match, Reply, call, namespaced_call, say
from sample_project import TEST_COMMAND
from scenarios import FIX, IN_SUBAGENT, JUDGE_SYSTEM, SUBAGENT_PROMPT, Scenario, runs_green_tests, step
from scenarios import judged as judged_by

SHORT_SESSIONS_MAX = 5


def failing_patches(tools: CodexTools) -> Scenario:
    """Patches that match nothing: PreToolUse alone tells them, and the rollout how they ended."""
    return Scenario(
        name="failing patches",
        prompts=("Rename the tax rate.",),
        replies=(
            *(step(tools.edit("TAX_RATE = 0.19", "RATE = 0.19")) for _ in range(5)),
            step(say("I cannot find it.")),
        ),
    )


def mixed(tools: CodexTools) -> Scenario:
    """Calls that succeed, fail and never run."""
    return Scenario(
        name="mixed",
        prompts=("Look around in several ways at once.",),
        replies=(
            step(tools.read()),
            step(
                tools.shell("git status --short"),
                tools.shell(TEST_COMMAND),
                call("no_such_tool", anything="x"),
            ),
            step(tools.edit("this text is not in the file", "x")),
            step(call("exec_command", wrong="argument")),
            step(call("view_image", path="/nonexistent.png")),
            step(say("I looked around.")),
        ),
    )


def looping_scripts(tools: CodexTools) -> Scenario:
    """In code mode: the same script fails in the same way."""
    return Scenario(
        name="code mode, looping",
        prompts=(FIX,),
        replies=(*(step(tools.script(TEST_COMMAND)) for _ in range(5)), step(say("The test still fails."))),
    )


def with_a_helper(tools: CodexTools) -> Scenario:
    """In code mode: a helper works, and is waited for."""
    return Scenario(
        name="sub-agent",
        prompts=("Ask a helper which test fails.",),
        replies=(
            step(tools.script(TEST_COMMAND), match=IN_SUBAGENT),
            step(say("test_half_a_cent_is_rounded_up fails."), match=IN_SUBAGENT),
            step(tools.delegate(SUBAGENT_PROMPT)),
            step(namespaced_call("collaboration", "wait_agent", timeout_ms=20_000)),
            step(say("The helper found it: half a cent is not rounded up.")),
        ),
    )


def short(tools: CodexTools) -> Scenario:
    """Two calls and an answer a session."""
    session = (
        step(tools.shell(TEST_COMMAND)),
        step(tools.shell("git status --short")),
        step(say("Half a cent.")),
    )
    return Scenario("short turns", ("Which test fails?",), session * SHORT_SESSIONS_MAX)


def compacted(tools: CodexTools) -> Scenario:
    """A third session is so long that the agent sums it up."""
    return Scenario(
        name="compaction",
        prompts=("Look around.", "Look around."),
        replies=(
            *runs_green_tests(tools) * 2,
            Reply((tools.shell("git status --short"),), usage={"input_tokens": 60_000}),
            Reply((say("We looked around."),), match=Match(has_tools=None)),
            step(say("Done.")),
        ),
    )


def judged(tools: CodexTools) -> Scenario:
    """The judge's call has the tools of any other."""
    return judged_by(tools, Match(has_tools=None, anywhere=JUDGE_SYSTEM))
