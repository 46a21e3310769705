"""
Scripted conversations for the real agent, as data: what the model answers, step by step.

Each runs in the sample project. A step that edits follows a step that reads, since the agent refuses to edit
an unread file; the scripted edits are unique in that file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from prompt_blocks import JsonObject
from replies import OVERLOADED, Match, Reply, call, say
from sample_project import FILES, FIXED_BODY, PRICING_PATH, TEST_COMMAND

ALL_TOOLS_FLAGS = ("--allowedTools", "Bash,Read,Edit,Write,Agent")
SUBAGENT_PROMPT = "Find out which test of the shop fails and report its name."
JUDGE_SECONDS = 6.0  # a side call takes one second here, some more where other tests run
ROUNDING_LINE = "    return round(total / people, 2)\n"


@dataclass(frozen=True)
class Scenario:
    """A name for the ledger, the prompts in their order, and the model's replies."""

    name: str
    prompts: Sequence[str]
    replies: Sequence[Reply]
    flags: Sequence[str] = field(default=ALL_TOOLS_FLAGS)

    @property
    def tool_calls(self) -> int:
        """How many calls the model makes over the whole scenario."""
        blocks = [block for reply in self.replies for block in reply.blocks]
        return sum(block["type"] == "tool_use" for block in blocks)


def step(*blocks: JsonObject, match: Match | None = None) -> Reply:
    """Return one reply of the model in the agent's loop."""
    return Reply(blocks=blocks, match=match or Match())


def bash(command: str, description: str) -> JsonObject:
    """Return a call of the shell."""
    return call("Bash", command=command, description=description)


def run_tests() -> JsonObject:
    """Return the call that runs the sample project's tests."""
    return bash(TEST_COMMAND, "Run the tests")


def read_pricing() -> JsonObject:
    """Return the call that reads the file with the bug."""
    return call("Read", file_path=PRICING_PATH)


def edit_pricing(old: str, new: str) -> JsonObject:
    """Return a call that edits the file with the bug."""
    return call("Edit", file_path=PRICING_PATH, old_string=old, new_string=new)


def fix_edits() -> tuple[JsonObject, JsonObject]:
    """Return the two edits that make the sample project's tests pass."""
    imports = edit_pricing(
        '"""Prices of a basket."""\n',
        '"""Prices of a basket."""\n\nfrom decimal import ROUND_HALF_UP, Decimal\n',
    )
    return imports, edit_pricing(ROUNDING_LINE, FIXED_BODY)


def _fix_after_the_loop() -> JsonObject:
    return edit_pricing(ROUNDING_LINE.replace(", 2)", ", ndigits=2)"), FIXED_BODY)


# The same test fails in the same way throughout: the edits touch something else, or nothing that matters.
LOOPING = Scenario(
    name="looping",
    prompts=("The test for half a cent fails. Please fix the rounding.",),
    replies=(
        step(say("I will run the tests first."), run_tests()),
        step(read_pricing()),
        step(say("Two digits are asked for."), edit_pricing("VAT_RATE = 0.19\n", "VAT_RATE = 0.190\n")),
        step(run_tests()),
        step(say("Maybe it was a fluke; once more."), run_tests()),
        step(
            edit_pricing(
                '"""What each one pays, in euros and cents."""', '"""What each one pays, rounded up."""'
            )
        ),
        step(run_tests()),
        step(run_tests()),
        step(edit_pricing("round(total / people, 2)", "round(total / people, ndigits=2)")),
        step(run_tests()),
        step(say("It should work now."), run_tests()),
        step(run_tests()),
        step(run_tests()),
        step(say("The test still fails.")),
    ),
)

PARALLEL_MIXED = Scenario(
    name="parallel mixed",
    prompts=("Look around in several ways at once.",),
    replies=(
        step(read_pricing()),
        step(
            bash("git status --short", "Show the status"),
            run_tests(),
            edit_pricing("this text is not in the file", "x"),
            call("NoSuchTool", anything="x"),
        ),
        step(say("I looked around.")),
    ),
)

HONEST_FIX = Scenario(
    name="honest fix",
    prompts=("The test for half a cent fails. Please fix the rounding.",),
    replies=(
        step(run_tests()),
        step(read_pricing()),
        step(fix_edits()[0]),
        step(fix_edits()[1]),
        step(run_tests()),
        step(say("Fixed: the amount is rounded with decimals, half a cent up.")),
    ),
)

_IN_SUBAGENT = Match(first_user=SUBAGENT_PROMPT)

SUBAGENT = Scenario(
    name="sub-agent",
    prompts=("Ask a helper which test fails.",),
    replies=(
        step(run_tests(), match=_IN_SUBAGENT),
        step(bash("git log --oneline", "Show the history"), read_pricing(), match=_IN_SUBAGENT),
        step(say("test_half_a_cent_is_rounded_up fails."), match=_IN_SUBAGENT),
        step(
            call(
                "Agent",
                description="Find the failing test",
                prompt=SUBAGENT_PROMPT,
                subagent_type="general-purpose",
                run_in_background=False,
            )
        ),
        step(run_tests()),
        step(say("The helper found it: half a cent is not rounded up.")),
    ),
)

# The second prompt is given with --continue, in a new process.
RESUME = Scenario(
    name="resume",
    prompts=("Which test fails?", "And what does git say?"),
    replies=(
        step(run_tests()),
        step(say("test_half_a_cent_is_rounded_up fails.")),
        step(bash("git status --short", "Show the status")),
        step(say("Nothing is changed.")),
    ),
)

GREEN_TESTS = "python3 -m unittest tests.test_pricing -k gross"

_SUMMARY = "Your task is to create a detailed summary"


def _runs_green_tests() -> tuple[Reply, ...]:
    return step(bash(GREEN_TESTS, "Run some tests")), step(say("They pass."))


# Two sessions that find out how the tests run; what comes then is told at its start.
TAUGHT = Scenario(
    name="facts",
    prompts=("Run some tests.", "Run some tests once more."),
    replies=(
        *_runs_green_tests(),
        *_runs_green_tests(),
        step(say("<summary>Tests were run.</summary>"), match=Match(has_tools=None, anywhere=_SUMMARY)),
        *_runs_green_tests(),
        *_runs_green_tests(),
    ),
)

# What the demo shows: the loop, then a second prompt that points at the cause.
DEMO = Scenario(
    name="demo",
    prompts=(*LOOPING.prompts, "Use Decimal and ROUND_HALF_UP for the amount per person."),
    replies=(
        *LOOPING.replies,
        step(say("Decimals it is."), fix_edits()[0]),
        step(_fix_after_the_loop()),
        step(run_tests()),
        step(say("All three tests pass: half a cent is now rounded up.")),
    ),
)

# Differing commands that tell nothing: no rule sees a circle, the gate does, and the judge is asked.
JUDGE_SYSTEM = "You judge whether a coding agent is stuck"
JUDGED = Scenario(
    name="judged",
    prompts=("Find out why the amount per person is a cent too low.",),
    replies=(
        Reply(
            blocks=(say('{"verdict": "stuck", "confidence": 0.9}'),),
            match=Match(has_tools=False, system=JUDGE_SYSTEM),
        ),
        *(step(bash(f"test -f {path}", "Look whether it is there")) for path in FILES),
        *(step(bash(f"test -s {path}", "Look whether it is empty")) for path in FILES),
        # By now the judge is asked; the model thinks long enough for its verdict to come.
        Reply(blocks=(bash("test -d shop", "Look for the folder"),), delay_seconds=JUDGE_SECONDS),
        step(say("The shop is there.")),
    ),
)

# An overloaded model: the turn ends with an error and without a stop.
OVERLOADED_TURN = Scenario(
    name="overloaded",
    prompts=("Which test fails?",),
    replies=(
        step(run_tests()),
        OVERLOADED,
    ),
)

# In a terminal: the user presses Esc while the command runs, and says something else.
INTERRUPTED = Scenario(
    name="interrupted",
    prompts=("Wait a little.", "Never mind."),
    replies=(
        step(bash("tail -f /dev/null", "Wait")),
        step(say("All right.")),
    ),
)
