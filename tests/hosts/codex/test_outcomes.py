from __future__ import annotations

import pytest

from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.codex.outcomes import Outcome, outcome_of_text

OK, FAILED, NEVER_RAN = CallStatus.OK, CallStatus.FAILED, CallStatus.NEVER_RAN

CHUNK = "Chunk ID: 1f3c0d\nWall time: 0.5 seconds\n"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Plan updated", Outcome("Plan updated")),
        (f"{CHUNK}Process exited with code 0\nOutput:\nok\n", Outcome("ok\n", OK, 0, duration_ms=500)),
        (
            f"{CHUNK}Process exited with code 2\nOriginal token count: 9\nTotal output lines: 3\nOutput:\nno",
            Outcome("no", FAILED, 2, duration_ms=500),
        ),
        (
            f"{CHUNK}Process running with session ID 7\nOutput:\n",
            Outcome("", OK, None, duration_ms=500, running="7"),
        ),
        (
            "Exit code: 1\nWall time: 1.1 seconds\nTotal output lines: 3\nOutput:\nno",
            Outcome("no", FAILED, 1, duration_ms=1_100),
        ),
        (
            "Exit code: 124\nWall time: 1 seconds\nOutput:\ncommand timed out after 1000 milliseconds\n",
            Outcome(
                "command timed out after 1000 milliseconds\n",
                FAILED,
                124,
                interrupted=True,
                duration_ms=1_000,
            ),
        ),
        ("Wall time: 0.01 seconds\nOutput:", Outcome("", OK, duration_ms=10)),
        ("Wall time: 2.0 seconds\naborted by user", Outcome("", FAILED, interrupted=True, duration_ms=2_000)),
        ("aborted by user after 2.0s", Outcome("aborted by user after 2.0s", FAILED, interrupted=True)),
        ("Script completed\nWall time 0.2 seconds\nOutput:\n1", Outcome("1", OK, duration_ms=200)),
        (
            "Script running with cell ID 6\nWall time 10.0 seconds\nOutput:\n",
            Outcome("", OK, duration_ms=10_000),
        ),
        (
            "Script failed\nWall time 0.1 seconds\nOutput:\nTypeError",
            Outcome("TypeError", FAILED, duration_ms=100),
        ),
        (
            '{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}',
            Outcome("no", FAILED, 1, duration_ms=100),
        ),
        ('{"output":', Outcome('{"output":')),
    ],
)
def test_a_text_for_the_model_tells_how_the_call_ended(told: str, expected: Outcome) -> None:
    assert outcome_of_text(told) == expected


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ("failed to parse function arguments: missing field `cmd`", NEVER_RAN),
        ("unsupported call: nothing", NEVER_RAN),
        ("exec command rejected by user", NEVER_RAN),
        ("patch rejected by user", NEVER_RAN),
        ("user rejected MCP tool call", NEVER_RAN),
        ("apply_patch verification failed: Failed to find expected lines in a.py", FAILED),
        ("write_stdin failed: Unknown process id 33370", FAILED),
        ("unable to locate image at `/a.png`: No such file", FAILED),
        ("a patch rejected by user, says a file", OK),
    ],
)
def test_without_a_header_the_first_words_tell_it(told: str, status: CallStatus) -> None:
    assert outcome_of_text(told).status is status
