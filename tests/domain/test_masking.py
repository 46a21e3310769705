import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain import masking
from tokeneconomizer.domain.failure_words import ERRNO_NAMES, EXCEPTION_KINDS, EXCEPTION_NAMES, PHRASES
from tokeneconomizer.domain.masking import (
    RESULT_HEAD_CHARACTERS_MAX,
    RESULT_TAIL_CHARACTERS_MAX,
    SIGNATURE_CHARACTERS_MAX,
    failure_signature,
    mask_hexadecimal,
    mask_result,
)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("3 passed in 0.98s", "3 passed in 1m 2.5s"),
        ("done in 12 ms", "done in 3 seconds"),
        ("2024-05-01T12:00:01.123Z start", "2025-11-30 07:59:59 start"),
        ("2024-05-01 12:00:01,123 INFO x", "2024-05-01 12:00:02,004 INFO x"),
        ("Mon, 06 May 2024 10:00:00 GMT x", "Tue, 17 Dec 2024 11:11:11 GMT x"),
        ("May  6 10:00:00 host x", "Jun 16 10:00:00 host x"),
        ("at 10:15 PM", "at 9:05 AM"),
        ("commit 1a2b3c4 x", "commit 9f8e7d6c5b4a3928171605040302010f0e0d0c0b x"),
        ("id 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "id 6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("<object at 0x7f3a2b1c>", "<object at 0x10AB>"),
        ("listening on 127.0.0.1:8080", "listening on 127.0.0.1:51234"),
        ("coverage 87%", "coverage 91.5%"),
        ("\x1b[31mred\x1b[0m text", "red text"),
        ("\x1b]8;;https://example.com\x07link\x1b]8;;\x07", "link"),
        ("/home/one/checkout/src/app.py:12:3: x", "/srv/ci/build-7/src/app.py:13:5: x"),
        ("in /tmp/tmpa1b2c3/out.txt", "in /var/folders/x1/abc_d/T/tmpzz/out.txt"),
        ("/private/tmp/pytest-of-me/pytest-12/a.txt", "/private/tmp/other/a.txt"),
        ("Error: line 12", "Error: line 13"),
        ("worker 3 failed", "worker 14 failed"),
        ("listening: 8080, tests: 1:20", "listening: 9090, tests: 2:30"),
    ],
)
def test_two_runs_of_the_same_thing_mask_equal(first: str, second: str) -> None:
    assert mask_result(first) == mask_result(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("error TS2304", "error TS2322"),
        ("FAILED test_1", "FAILED test_2"),
        ("src/one/app.py", "src/two/app.py"),
        ("/srv/one/app.py", "/srv/two/app.py"),
        ("ModuleNotFoundError: yaml", "ModuleNotFoundError: toml"),
        ("defaced", "effaced"),
        ("2 failed, 11 passed in 3s", "1 failed, 12 passed in 3s"),
        ("Tests:       3 failed, 9 total", "Tests:       2 failed, 9 total"),
        ("Total: 89  Pass: 88  Fail: 1", "Total: 87  Pass: 86  Fail: 1"),
        ("FAILED (failures=2)", "FAILED (failures=1)"),
        ("ok 1\n# fail 12", "ok 1\n# fail 11"),
        ("3 problems (3 errors, 0 warnings)", "2 problems (2 errors, 0 warnings)"),
        ("", " "),
    ],
)
def test_different_things_stay_different(first: str, second: str) -> None:
    assert mask_result(first) != mask_result(second)


@pytest.mark.parametrize(
    ("step", "text", "masked"),
    [
        (masking.drop_colours, "\x1b[1;31ma\x1b[K", "a"),
        (masking.mask_hexadecimal, "a1b2c3d 0xff 1234567 decade", "<hex> <hex> 1234567 decade"),
        (
            masking.mask_paths,
            "/a/b/c.py d/e.py /f /tmp/x/y.z /tmp",
            "<dir>/b/c.py d/e.py /f <tmp>/y.z <tmp>/",
        ),
        (
            masking.keep_tallies,
            "12 failed, 3 passed, worker 4 failed",
            "hi failed, j passed, worker 4 failed",
        ),
        (masking.mask_quantities, "1 2.5 3:4 x5 6x 7% 8s", "# # # x5 #x #% #"),
        (masking.mask_days, "Jan # b March", "# b March"),
    ],
)
def test_each_step_masks_one_kind(step: object, text: str, masked: str) -> None:
    assert callable(step)
    assert step(text) == masked


def test_of_a_huge_text_the_beginning_and_the_end_count() -> None:
    head, tail = "a " * (RESULT_HEAD_CHARACTERS_MAX // 2), "z " * (RESULT_TAIL_CHARACTERS_MAX // 2)
    assert mask_result(head + "b" * 1_000_000 + tail) == mask_result(head + "c" * 2_000_000 + tail)
    assert mask_result(head + tail[:-2] + "y ") != mask_result(head + tail)


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "1.",
        "1:",
        "a",
        "a1",
        "/",
        "/a",
        "-1",
        "0x",
        "\x1b[",
        "\x1b]",
        "1s ",
        "Jan ",
        "error\n",
        "Error",
        "2024-01-01 ",
    ],
)
def test_a_huge_text_is_no_burden(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert len(mask_result(text)) <= 2 * (RESULT_HEAD_CHARACTERS_MAX + RESULT_TAIL_CHARACTERS_MAX)
    assert len(failure_signature(text)[0]) <= SIGNATURE_CHARACTERS_MAX


@given(st.text() | st.text(alphabet="0123456789:.-/ axTZsm%f\n"))
@settings(deadline=None)
def test_masking_takes_any_text(text: str) -> None:
    assert isinstance(mask_result(text), str)


@given(
    st.lists(st.integers(0, 10**6), min_size=3, max_size=3),
    st.lists(st.integers(0, 10**6), min_size=3, max_size=3),
)
def test_numbers_never_part_two_runs(first: list[int], second: list[int]) -> None:
    frame = "worker {} failed after {} of {} tries"
    assert mask_result(frame.format(*first)) == mask_result(frame.format(*second))


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            "Traceback (most recent call last):\n  x\nModuleNotFoundError: No module named 'a'",
            "ModuleNotFoundError, no module named",
        ),
        ("E   AssertionError: assert 1 == 2\nFAILED tests/a.py::b", "AssertionError, FAILED"),
        ("src/a.ts(1,2): error TS2304: Cannot find name 'x'.", "TS2304"),
        ("error[E0425]: cannot find value `x`", "E0425"),
        ("Error: ENOENT: no such file or directory, open 'x'", "ENOENT, no such file or directory"),
        ("Exit code 127\nbash: line 1: foo: command not found", "command not found"),
        ("Exit code 2\nls: cannot access 'x': No such file or directory", "no such file or directory"),
        (
            "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>",
            "file has not been read yet",
        ),
        (
            "<tool_use_error>String to replace not found in file.\nString: raise KeyError</tool_use_error>",
            "string to replace not found",
        ),
        ("java.lang.NullPointerException: x", "NullPointerException"),
        ("acme.billing.SecretProjectError: x", "Error"),
        ("SecretProjectException", "Exception"),
        ("gh: Not Found (HTTP 404)", "HTTP 404"),
        ("Command timed out after 5s", "timed out"),
        ("Error: something of ours", "error"),
        ("Exit code 1", "exit 1"),
        ("Sibling tool call errored", ""),
        ("all 12 tests passed, 0 errors", ""),
        ("", ""),
    ],
)
def test_says_a_failure_in_known_words_alone(output: str, words: str) -> None:
    assert failure_signature(output)[0] == words


@pytest.mark.parametrize(
    "output", ["Exit code 1", "Sibling tool call errored", "<tool_use_error></tool_use_error>", "ok"]
)
def test_a_wrapper_alone_is_no_signature(output: str) -> None:
    assert failure_signature(output)[1] == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Exit code 1\nx.py:12: TypeError: bad", "Exit code 2\nnoise\nx.py:99: TypeError: bad\nmore noise"),
        (
            "<tool_use_error>String to replace not found in file.\nString: one</tool_use_error>",
            "<tool_use_error>String to replace not found in file.\nString: error two</tool_use_error>",
        ),
    ],
)
def test_the_same_failure_has_the_same_lines(first: str, second: str) -> None:
    assert failure_signature(first)[1] == failure_signature(second)[1] != ""


def test_other_failures_have_other_lines() -> None:
    assert failure_signature("KeyError: 'a'") != failure_signature("KeyError: 'b'")
    assert failure_signature("KeyError: 'a'")[0] == failure_signature("KeyError: 'b'")[0]


def test_of_many_error_lines_the_first_and_the_last_are_kept() -> None:
    lines = failure_signature("\n".join(f"error in {chr(97 + number)}" for number in range(26)))[1].split(
        "\n"
    )
    assert lines == [f"error in {letter}" for letter in "abcdefuvwxyz"]


@given(
    st.lists(
        st.sampled_from(
            ["error ", "Error", "CANARY", "canary42 ", "Exception", "\n", "E0425 ", "not found", "é"]
        )
    )
)
@settings(deadline=None)
def test_the_words_come_from_the_closed_vocabulary(pieces: list[str]) -> None:
    words = failure_signature("".join(pieces))[0]
    known = {
        *EXCEPTION_NAMES,
        *EXCEPTION_KINDS,
        *ERRNO_NAMES,
        *(phrase.rstrip(":") for phrase in PHRASES),
        "error",
        "E0425",
    }
    assert all(word in known for word in words.split(", ") if word)


@given(st.text(alphabet="0123456789abcdefxABCg -\n", max_size=60))
def test_a_look_at_the_shape_first_misses_no_hexadecimal_number(text: str) -> None:
    # The long run, which any look must find, keeps the first text from being passed over.
    assert mask_hexadecimal(text) == mask_hexadecimal(f"{text}\n{'0a' * 4}").removesuffix("\n<hex>")
