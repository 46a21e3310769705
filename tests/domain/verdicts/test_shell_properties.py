import shlex
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain.verdicts.shell import CommandReading, read_command, read_powershell
from tokeneconomizer.domain.verdicts.shell.heredocs import lift_heredocs
from tokeneconomizer.domain.verdicts.shell.reading import INVOCATIONS_MAX

PIECES = st.sampled_from(
    [
        *"ab =\n\t;|&<>(){}[]!#$\\'\"`*?~-/@\x00\x1b\ue000é😀\udcff",
        *(
            "$(",
            "$((",
            "))",
            "${",
            "<<EOF\n",
            "EOF\n",
            "<<-'E'",
            "<<<",
            ">(",
            "&&",
            "||",
            "|&",
            "&>",
            "2>&1",
            "[[ ",
        ),
        *(
            "if ",
            "then ",
            "fi",
            "for i in ",
            "do ",
            "done",
            "case ",
            "esac",
            "f() ",
            "function ",
            "time ",
            "exit $?",
        ),
        *(
            "bash -c '",
            "eval ",
            "env ",
            "timeout 5 ",
            "uv run ",
            "npx ",
            "python -m ",
            "find . -exec ",
            "sed -i ",
        ),
        *(
            "set -eo pipefail\n",
            "cd ",
            "x=",
            "docker exec ",
            "@'\n",
            "'@",
            "<#",
            "#>",
            "$env:A=",
            "& ",
            "coverage run ",
        ),
    ],
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


def check(reading: CommandReading) -> None:
    runs = reading.invocations
    assert [run.position for run in runs] == list(range(len(runs)))
    assert len(runs) <= INVOCATIONS_MAX
    assert all(run.needed_for_success or not run.status_decides for run in runs)
    assert len(set(reading.edits)) == len(reading.edits)


@settings(max_examples=400)
@given(TEXTS)
def test_no_text_makes_a_reader_raise(text: str) -> None:
    check(read_command(text))
    check(read_powershell(text))


@given(TEXTS)
def test_a_reading_depends_on_the_text_alone(text: str) -> None:
    assert read_command(text) == read_command(text)


WORDS = st.lists(st.text(alphabet="abc -_.:/=$'\"\\*(){}|;&<>#\n é", max_size=8), max_size=5)


@given(WORDS)
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    run = read_command(shlex.join(["prog", *words])).invocations[0]
    assert (run.program, list(run.arguments)) == ("prog", words)


@given(WORDS)
def test_a_shell_within_changes_nothing_but_the_wrappers(words: list[str]) -> None:
    command = shlex.join(["prog", *words])
    outer = read_command(command)
    inner = read_command(shlex.join(["bash", "-c", command]))
    assert [replace(run, wrappers=()) for run in inner.invocations] == list(outer.invocations)
    assert inner.invocations[0].wrappers == ("bash -c",)


@given(st.text(alphabet="ab\n\t'\"$`", max_size=40))
def test_a_heredocs_text_comes_back_as_it_was(body: str) -> None:
    lines = body.removesuffix("\n") + "\n"
    code, bodies = lift_heredocs(f"cat <<'END' | b\n{lines}END\nc")
    assert bodies == (lines,)
    assert "\n" in code
    assert [run.program for run in read_command(f"cat <<'END' | b\n{lines}END\nc").invocations] == [
        "cat",
        "b",
        "c",
    ]


@given(TEXTS)
def test_only_heredocs_are_lifted(text: str) -> None:
    code, bodies = lift_heredocs(text)
    assert bodies or code == text or "<<" in text


@pytest.mark.parametrize(
    "unit",
    [
        "a | ",
        "a && ",
        "$(",
        "( ",
        '"$(',
        "a=(",
        "`",
        "<<A ",
        "cat <<A\nx\nA\n",
        "é?",
        "[@]",
        "=~ ",
        "if a; then ",
        "\x00",
        "'a' ",
    ],
)
def test_a_text_without_end_is_cut(unit: str) -> None:
    # Would take minutes if the parser, which is quadratic here, saw all of it.
    text = unit * (1_000_000 // len(unit))
    for reading in (read_command(text), read_powershell(text)):
        check(reading)
        assert not reading.parsed


FUZZ = """
import random
from tokeneconomizer.domain.verdicts.shell import read_command
from tokeneconomizer.domain.verdicts.shell.tree import parse
generator = random.Random({seed})
pieces = {pieces}
for _ in range(1500):
    text = "".join(generator.choice(pieces) for _ in range(generator.choice((3, 30, 300))))
    if generator.random() < 0.3:
        text = bytes(generator.randrange(256) for _ in range(200)).decode("utf-8", "surrogateescape")
    parse(text)
    read_command(text)
print("alive")
"""


def test_the_parser_survives_texts_of_every_kind() -> None:
    # In a process of its own: what is feared is a crash of the parser's C code.
    pieces = [
        "$(",
        ")",
        "`",
        '"',
        "'",
        "<<E\n",
        "E\n",
        "${",
        "}",
        "((",
        "))",
        "[[ ",
        "]]",
        "if ",
        "case ",
        "esac",
        "\x00",
        "é",
    ]
    pieces += [
        "\udc80",
        "\U0001f600",
        "a",
        " ",
        "\n",
        ";;",
        "|",
        "<(",
        "=",
        "*",
        "@(",
        "\\",
        "#",
        "$'",
        "for ",
        "do ",
    ]
    script = FUZZ.format(seed=7, pieces=pieces)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (0, "alive\n", "")


@pytest.mark.parametrize(
    "text", ["a{\U000def9f5", "echo {1..\U000e0001}", "{12\U000e16f4", "\U000e16f4{\U0008bc5d0_"]
)
def test_a_character_where_the_grammar_asks_for_a_digit_does_not_end_the_process(text: str) -> None:
    module = "tokeneconomizer.domain.verdicts.shell"
    code = f"import sys; from {module} import read_command; read_command(sys.argv[1])"
    assert subprocess.run([sys.executable, "-c", code, text], check=False).returncode == 0
