"""
Scripted conversations for real agents, as data: what the model answers, step by step.

Each is a function of an agent's tools and runs in the sample project. Edits are of whole lines that occur
once in their file, and follow a step that reads it: so every agent can make them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from prompt_blocks import JsonObject
from replies import Match, Reply, say
from sample_project import FILES, FIXED_BODY, PRICING_PATH, TEST_COMMAND

FIX = "The test for half a cent fails. Please fix the rounding."
SUBAGENT_PROMPT = "Find out which test of the shop fails and report its name."
IN_SUBAGENT = Match(first_user=SUBAGENT_PROMPT)
GREEN_TESTS = "python3 -m unittest tests.test_pricing -k gross"
JUDGE_SYSTEM = "You judge whether a coding agent is stuck"
JUDGE_SECONDS = 6.0  # a side call takes one second here, some more where other tests run
SESSIONS_TAUGHT_MAX = 5  # two that find out, and those that come then

DOCSTRING_LINE = '    """What each one pays, in euros and cents."""\n'
FIRST_LINE = '"""Prices of a basket."""\n'
ROUNDING_LINE = "    return round(total / people, 2)\n"
ROUNDING_SAID_OTHERWISE = ROUNDING_LINE.replace(", 2)", ", ndigits=2)")


class Tools(Protocol):
    """The words of an agent's tools."""

    def shell(self, command: str) -> JsonObject:
        """Return a call of the shell."""
        ...

    def read(self, path: str = PRICING_PATH) -> JsonObject:
        """Return a call that reads a file; by default the one with the bug."""
        ...

    def edit(self, old: str, new: str) -> JsonObject:
        """Return a call that edits the file with the bug."""
        ...


class DelegatingTools(Tools, Protocol):
    """Those of an agent that has sub-agents."""

    def delegate(self, prompt: str) -> JsonObject:
        """Return a call of a sub-agent."""
        ...


@dataclass(frozen=True)
class Scenario:
    """A name for the ledger, the prompts in their order, and the model's replies."""

    name: str
    prompts: Sequence[str]
    replies: Sequence[Reply]

    @property
    def tool_calls(self) -> int:
        """How many calls the model makes over the whole scenario."""
        blocks = [block for reply in self.replies for block in reply.blocks]
        return sum(block["type"] == "tool_use" for block in blocks)


def step(*blocks: JsonObject, match: Match | None = None) -> Reply:
    """Return one reply of the model in the agent's loop."""
    return Reply(blocks=blocks, match=match or Match())


def looping(tools: Tools) -> Scenario:
    """The same test fails in the same way throughout: the edits touch something else, or nothing."""
    run_tests = tools.shell(TEST_COMMAND)
    return Scenario(
        name="looping",
        prompts=(FIX,),
        replies=(
            step(say("I will run the tests first."), run_tests),
            step(tools.read()),
            step(say("Two digits are asked for."), tools.edit("VAT_RATE = 0.19\n", "VAT_RATE = 0.190\n")),
            step(run_tests),
            step(say("Maybe it was a fluke; once more."), run_tests),
            step(tools.edit(DOCSTRING_LINE, DOCSTRING_LINE.replace("in euros and cents", "rounded up"))),
            step(run_tests),
            step(run_tests),
            step(tools.edit(ROUNDING_LINE, ROUNDING_SAID_OTHERWISE)),
            step(run_tests),
            step(say("It should work now."), run_tests),
            step(run_tests),
            step(run_tests),
            step(say("The test still fails.")),
        ),
    )


def honest_fix(tools: Tools) -> Scenario:
    """The bug is found and fixed."""
    run_tests = tools.shell(TEST_COMMAND)
    return Scenario(
        name="honest fix",
        prompts=(FIX,),
        replies=(
            step(run_tests),
            step(tools.read()),
            step(_import_decimals(tools)),
            step(tools.edit(ROUNDING_LINE, FIXED_BODY)),
            step(run_tests),
            step(say("Fixed: the amount is rounded with decimals, half a cent up.")),
        ),
    )


def with_a_helper(tools: DelegatingTools) -> Scenario:
    """A helper works in between."""
    run_tests = tools.shell(TEST_COMMAND)
    return Scenario(
        name="sub-agent",
        prompts=("Ask a helper which test fails.",),
        replies=(
            step(run_tests, match=IN_SUBAGENT),
            step(tools.shell("git log --oneline"), tools.read(), match=IN_SUBAGENT),
            step(say("test_half_a_cent_is_rounded_up fails."), match=IN_SUBAGENT),
            step(tools.delegate(SUBAGENT_PROMPT)),
            step(run_tests),
            step(say("The helper found it: half a cent is not rounded up.")),
        ),
    )


def two_prompts(tools: Tools) -> Scenario:
    """One command a prompt; the second prompt comes in a new process that resumes the session."""
    return Scenario(
        name="resume",
        prompts=("Which test fails?", "And what does git say?"),
        replies=(
            step(tools.shell(TEST_COMMAND)),
            step(say("test_half_a_cent_is_rounded_up fails.")),
            step(tools.shell("git status --short")),
            step(say("Nothing is changed.")),
        ),
    )


def runs_green_tests(tools: Tools) -> tuple[Reply, Reply]:
    """Tests pass."""
    return step(tools.shell(GREEN_TESTS)), step(say("They pass."))


def taught(tools: Tools) -> Scenario:
    """Two sessions that find out how the tests run; what comes then is told at its start."""
    return Scenario(
        name="facts",
        prompts=("Run some tests.", "Run some tests once more."),
        replies=runs_green_tests(tools) * SESSIONS_TAUGHT_MAX,
    )


def judged(tools: Tools, side_call: Match | None = None) -> Scenario:
    """
    Differing commands that tell nothing: no rule sees a circle, the gate does, and the judge is asked.

    `side_call` is what the judge is known by, where its call has tools.
    """
    return Scenario(
        name="judged",
        prompts=("Find out why the amount per person is a cent too low.",),
        replies=(
            Reply(
                blocks=(say('{"verdict": "stuck", "confidence": 0.9}'),),
                match=side_call or Match(has_tools=False, system=JUDGE_SYSTEM),
            ),
            *(step(tools.shell(f"test -f {path}")) for path in FILES),
            *(step(tools.shell(f"test -s {path}")) for path in FILES),
            # By now the judge is asked; the model thinks long enough for its verdict to come.
            Reply(blocks=(tools.shell("test -d shop"),), delay_seconds=JUDGE_SECONDS),
            step(say("The shop is there.")),
        ),
    )


def greetings(_tools: Tools) -> Scenario:
    """Sessions of one request each, as many as are wanted."""
    return Scenario("greetings", ("Say hello.",), (Reply(blocks=(say("Hello."),), times=None),))


def demo(tools: Tools) -> Scenario:
    """What the demo shows: the loop, then a second prompt that points at the cause."""
    loop = looping(tools)
    return Scenario(
        name="demo",
        prompts=(*loop.prompts, "Use Decimal and ROUND_HALF_UP for the amount per person."),
        replies=(
            *loop.replies,
            step(say("Decimals it is."), _import_decimals(tools)),
            step(tools.edit(ROUNDING_SAID_OTHERWISE, FIXED_BODY)),
            step(tools.shell(TEST_COMMAND)),
            step(say("All three tests pass: half a cent is now rounded up.")),
        ),
    )


def _import_decimals(tools: Tools) -> JsonObject:
    return tools.edit(FIRST_LINE, f"{FIRST_LINE}\nfrom decimal import ROUND_HALF_UP, Decimal\n")
