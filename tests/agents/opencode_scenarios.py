"""The scripted conversations in the words of opencode's tools, and those that only it has."""

from prompt_blocks import JsonObject
from replies import Match, Reply, call, say
from sample_project import FILES, PRICING_PATH, TEST_COMMAND
from scenarios import GREEN_TESTS, JUDGE_SYSTEM, ROUNDING_LINE, SUBAGENT_PROMPT, Scenario, step


def bash(command: str) -> JsonObject:
    """Return a call of the shell."""
    return call("bash", command=command, description="Run it")


def run_tests() -> JsonObject:
    """Return the call that runs the sample project's tests."""
    return bash(TEST_COMMAND)


def read_pricing() -> JsonObject:
    """Return the call that reads the file with the bug."""
    return call("read", filePath=PRICING_PATH)


def edit_pricing(old: str, new: str) -> JsonObject:
    """Return a call that edits the file with the bug."""
    return call("edit", filePath=PRICING_PATH, oldString=old, newString=new)


FIX = ("The test for half a cent fails. Please fix the rounding.",)

# A turn as any other: calls that succeed, one that fails, nothing that goes in circles.
USUAL = Scenario(
    name="usual",
    prompts=FIX,
    replies=(
        step(run_tests()),
        step(read_pricing()),
        step(edit_pricing(ROUNDING_LINE, "    return round(total / people + 0.001, 2)\n")),
        step(run_tests()),
        step(say("Fixed: half a cent is rounded up.")),
    ),
    flags=(),
)

# The same test fails in the same way throughout: the edits touch something else, or nothing that matters.
LOOPING = Scenario(
    name="looping",
    prompts=FIX,
    replies=(
        step(run_tests()),
        step(read_pricing()),
        step(edit_pricing("VAT_RATE = 0.19\n", "VAT_RATE = 0.190\n")),
        step(run_tests()),
        step(run_tests()),
        step(run_tests()),
        step(run_tests()),
        step(edit_pricing("round(total / people, 2)", "round(total / people, ndigits=2)")),
        *(step(run_tests()) for _ in range(5)),
        step(say("The test still fails.")),
    ),
    flags=(),
)

# The same edit fails again and again, and nothing that succeeds comes in between.
LOOPING_ON_A_FAILED_EDIT = Scenario(
    name="looping on a failed edit",
    prompts=FIX,
    replies=(
        *(step(edit_pricing("this text is not in the file", "x")) for _ in range(8)),
        step(say("It cannot be edited.")),
    ),
    flags=(),
)

PARALLEL_MIXED = Scenario(
    name="parallel mixed",
    prompts=("Look around in several ways at once.",),
    replies=(
        step(read_pricing()),
        step(
            bash("git status --short"),
            run_tests(),
            edit_pricing("this text is not in the file", "x"),
            call("no_such_tool", anything="x"),
        ),
        step(say("I looked around.")),
    ),
    flags=(),
)

_IN_SUBAGENT = Match(first_user=SUBAGENT_PROMPT)

SUBAGENT = Scenario(
    name="sub-agent",
    prompts=("Ask a helper which test fails.",),
    replies=(
        step(run_tests(), match=_IN_SUBAGENT),
        step(bash("git log --oneline"), read_pricing(), match=_IN_SUBAGENT),
        step(say("test_half_a_cent_is_rounded_up fails."), match=_IN_SUBAGENT),
        step(call("task", description="Find it", prompt=SUBAGENT_PROMPT, subagent_type="general")),
        step(run_tests()),
        step(say("The helper found it: half a cent is not rounded up.")),
    ),
    flags=(),
)

_GREEN = (step(bash(GREEN_TESTS)), step(say("They pass.")))

# Two sessions that find out how the tests run; the third is told, and goes on in two more processes.
TAUGHT = Scenario(
    name="facts",
    prompts=("Run some tests.", "Run them once more."),
    replies=_GREEN * 5,
    flags=(),
)

# Differing commands that tell nothing: no rule sees a circle, the gate does, and the judge is asked.
JUDGED = Scenario(
    name="judged",
    prompts=("Find out why the amount per person is a cent too low.",),
    replies=(
        Reply(
            blocks=(say('{"verdict": "stuck", "confidence": 0.9}'),),
            match=Match(has_tools=False, system=JUDGE_SYSTEM),
        ),
        *(step(bash(f"test -f {path}")) for path in FILES),
        *(step(bash(f"test -s {path}")) for path in FILES),
        step(say("The shop is there.")),
    ),
    flags=(),
)
