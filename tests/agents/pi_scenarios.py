"""Scripted conversations for the real Pi, with its own tools."""

from prompt_blocks import JsonObject
from replies import Match, Reply, call, say
from sample_project import FILES, FIXED_BODY, PRICING_PATH, TEST_COMMAND
from scenarios import GREEN_TESTS, JUDGE_SECONDS, JUDGE_SYSTEM, ROUNDING_LINE, Scenario, step


def bash(command: str) -> JsonObject:
    """Return a call of the shell."""
    return call("bash", command=command)


def edit(*changes: tuple[str, str]) -> JsonObject:
    """Return a call that edits the file with the bug."""
    edits = [{"oldText": old, "newText": new} for old, new in changes]
    return call("edit", path=PRICING_PATH, edits=edits)


RUN_TESTS = bash(TEST_COMMAND)

LOOPING = Scenario(
    name="looping",
    prompts=("The test for half a cent fails. Please fix the rounding.",),
    replies=(
        step(say("I will run the tests first."), RUN_TESTS),
        step(edit(("VAT_RATE = 0.19\n", "VAT_RATE = 0.190\n"))),
        *(step(RUN_TESTS) for _ in range(6)),
        step(say("The test still fails.")),
    ),
    flags=(),
)

HONEST_FIX = Scenario(
    name="honest fix",
    prompts=LOOPING.prompts,
    replies=(
        step(RUN_TESTS),
        step(
            edit(
                (
                    '"""Prices of a basket."""\n',
                    '"""Prices of a basket."""\n\nfrom decimal import ROUND_HALF_UP, Decimal\n',
                ),
                (ROUNDING_LINE, FIXED_BODY),
            )
        ),
        step(RUN_TESTS),
        step(say("Fixed: half a cent is rounded up.")),
    ),
    flags=(),
)

PARALLEL_MIXED = Scenario(
    name="parallel mixed",
    prompts=("Look around in several ways at once.",),
    replies=(
        step(
            bash("git status --short"),
            RUN_TESTS,
            call("read", path="no/such/file"),
            call("edit", path=3),
            call("NoSuchTool", anything="x"),
        ),
        step(say("I looked around.")),
    ),
    flags=(),
)

TAUGHT = Scenario(
    name="facts",
    prompts=("Run some tests.", "Run some tests once more."),
    replies=tuple(reply for _ in range(2) for reply in (step(bash(GREEN_TESTS)), step(say("They pass.")))),
    flags=(),
)

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
        # By now the judge is asked; the model thinks long enough for its verdict to come.
        Reply(blocks=(bash("test -d shop"),), delay_seconds=JUDGE_SECONDS),
        step(say("The shop is there.")),
    ),
    flags=(),
)
