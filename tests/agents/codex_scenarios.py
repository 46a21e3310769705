"""What the scripted model does in Codex: with tools of its own, or (code mode) by scripts that call them."""

import json

from prompt_blocks import JsonObject
from replies import Match, Reply, call, custom_call, namespaced_call, say
from sample_project import FILES, FIXED_BODY, PRICING_PATH, TEST_COMMAND
from scenarios import JUDGE_SECONDS, JUDGE_SYSTEM, ROUNDING_LINE, SUBAGENT_PROMPT, Scenario, step

GREEN_TESTS = "python3 -m unittest tests.test_pricing -k gross"


def shell(command: str) -> JsonObject:
    """Return a call of the shell."""
    return call("exec_command", cmd=command)


def run_tests() -> JsonObject:
    """Return the call that runs the sample project's tests."""
    return shell(TEST_COMMAND)


def patch(old: str, new: str, path: str = PRICING_PATH) -> JsonObject:
    """Return a call that edits a file."""
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    text = "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch", ""])
    return custom_call("apply_patch", text)


def script(command: str) -> JsonObject:
    """Return a call of a script that runs a command and prints how it ended."""
    given = json.dumps({"cmd": command})
    return custom_call("exec", f"const r = await tools.exec_command({given}); text(JSON.stringify(r));")


LOOPING = Scenario(
    name="looping",
    prompts=("The test for half a cent fails. Please fix the rounding.",),
    replies=(
        step(say("I will run the tests first."), run_tests()),
        step(shell(f"cat {PRICING_PATH}")),
        step(patch("VAT_RATE = 0.19", "VAT_RATE = 0.190")),
        step(run_tests()),
        step(say("Maybe it was a fluke; once more."), run_tests()),
        step(
            patch(
                '    """What each one pays, in euros and cents."""', '    """What each one pays, rounded."""'
            )
        ),
        step(run_tests()),
        step(run_tests()),
        step(patch("round(total / people, 2)", "round(total / people, ndigits=2)")),
        *(step(run_tests()) for _ in range(4)),
        step(say("The test still fails.")),
    ),
)

# Patches that match nothing: PreToolUse alone tells them, and the rollout how they ended.
FAILING_PATCHES = Scenario(
    name="failing patches",
    prompts=("Rename the tax rate.",),
    replies=(
        *(step(patch("TAX_RATE = 0.19", "RATE = 0.19")) for _ in range(5)),
        step(say("I cannot find it.")),
    ),
)

MIXED = Scenario(
    name="mixed",
    prompts=("Look around in several ways at once.",),
    replies=(
        step(shell(f"cat {PRICING_PATH}")),
        step(shell("git status --short"), run_tests(), call("no_such_tool", anything="x")),
        step(patch("this text is not in the file", "x")),
        step(call("exec_command", wrong="argument")),
        step(call("view_image", path="/nonexistent.png")),
        step(say("I looked around.")),
    ),
)

HONEST_FIX = Scenario(
    name="honest fix",
    prompts=("The test for half a cent fails. Please fix the rounding.",),
    replies=(
        step(run_tests()),
        step(
            patch(
                '"""Prices of a basket."""',
                '"""Prices of a basket."""\n\nfrom decimal import ROUND_HALF_UP, Decimal',
            )
        ),
        step(patch(ROUNDING_LINE.rstrip("\n"), FIXED_BODY.rstrip("\n"))),
        step(run_tests()),
        step(say("Fixed: the amount is rounded with decimals, half a cent up.")),
    ),
)

CODE_MODE = Scenario(
    name="code mode, looping",
    prompts=("The test for half a cent fails. Please fix the rounding.",),
    replies=(*(step(script(TEST_COMMAND)) for _ in range(5)), step(say("The test still fails."))),
)

_IN_SUBAGENT = Match(first_user=SUBAGENT_PROMPT)

SUBAGENT = Scenario(
    name="sub-agent",
    prompts=("Ask a helper which test fails.",),
    replies=(
        step(script(TEST_COMMAND), match=_IN_SUBAGENT),
        step(say("test_half_a_cent_is_rounded_up fails."), match=_IN_SUBAGENT),
        step(
            namespaced_call(
                "collaboration", "spawn_agent", task_name="helper", message=SUBAGENT_PROMPT, fork_turns="none"
            )
        ),
        step(namespaced_call("collaboration", "wait_agent", timeout_ms=20_000)),
        step(say("The helper found it: half a cent is not rounded up.")),
    ),
)


def _runs_green_tests() -> tuple[Reply, ...]:
    return step(shell(GREEN_TESTS)), step(say("They pass."))


# Two sessions that find out how the tests run; what comes then is told at its start.
TAUGHT = Scenario(
    name="facts",
    prompts=("Run some tests.", "Run some tests once more."),
    replies=(*_runs_green_tests(), *_runs_green_tests()),
)

# Two calls and an answer, as often as wanted.
SHORT = Scenario(
    name="short turns",
    prompts=("Which test fails?",),
    replies=(step(run_tests()), step(shell("git status --short")), step(say("Half a cent."))) * 5,
)

COMPACTED = Scenario(
    name="compaction",
    prompts=("Look around.",),
    replies=(
        *_runs_green_tests(),
        *_runs_green_tests(),
        Reply((shell("git status --short"),), usage={"input_tokens": 60_000}),
        Reply((say("We looked around."),), match=Match(has_tools=None)),
        step(say("Done.")),
    ),
)

JUDGED = Scenario(
    name="judged",
    prompts=("Find out why the amount per person is a cent too low.",),
    replies=(
        Reply(
            blocks=(say('{"verdict": "stuck", "confidence": 0.9}'),),
            match=Match(has_tools=None, anywhere=JUDGE_SYSTEM),
        ),
        *(step(shell(f"test -f {path}")) for path in FILES),
        *(step(shell(f"test -s {path}")) for path in FILES),
        # By now the judge is asked; the model thinks long enough for its verdict to come.
        Reply(blocks=(shell("test -d shop"),), delay_seconds=JUDGE_SECONDS),
        step(say("The shop is there.")),
    ),
)
