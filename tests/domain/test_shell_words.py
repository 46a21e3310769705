import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain.shell_words import (
    Kind,
    Piece,
    argument_positions,
    rewrite_commands,
    tokens_of,
    word_pieces,
)

SHELL_CHARACTERS = st.text(alphabet="ab12 \t\n'\"\\$(){}<>|&;#`=-/~…", max_size=60)


def words_of(command: str) -> list[list[str]]:
    tokens = tokens_of(command)
    return [[tokens[position].text for position in positions] for positions in argument_positions(command)]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls -la src", [["ls", "-la", "src"]]),
        ("a && b | c; d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("cat 'a b' \"c d\"", [["cat", "'a b'", '"c d"']]),
        ('x "$(echo "a b" | c)" y', [["x", '"$(echo "a b" | c)"', "y"]]),
        ("x $(git rev-parse HEAD) y", [["x"], ["git", "rev-parse", "HEAD"], ["y"]]),
        ("x 2>&1 >out.txt y < in.txt z", [["x", "y", "z"]]),
        ("x <<EOF …(3 lines) y", [["x", "y"]]),
        ("x a\\ b\\\n c", [["x", "a\\ b", "c"]]),
        ("x # a comment | with a pipe", [["x"]]),
        ("x 'it ends nowhere | y", [["x", "'it ends nowhere | y"]]),
        ("x <text> y<secret>z", [["x", "<text>", "y<secret>z"]]),
        ("", []),
    ],
)
def test_parts_a_command_line_into_the_words_of_its_commands(command: str, words: list[list[str]]) -> None:
    assert words_of(command) == words


def test_parts_a_word_into_bare_and_quoted_pieces() -> None:
    assert word_pieces("--a='b c'\"d\"e") == [
        Piece("", "--a="),
        Piece("'", "b c"),
        Piece('"', "d"),
        Piece("", "e"),
    ]


@given(SHELL_CHARACTERS)
def test_loses_no_character(command: str) -> None:
    assert "".join(token.text for token in tokens_of(command)) == command


@given(st.text(max_size=80))
@settings(deadline=None)
def test_takes_any_text(command: str) -> None:
    assert "".join(token.text for token in tokens_of(command)) == command
    assert all(token.text for token in tokens_of(command))


@given(SHELL_CHARACTERS)
def test_a_rule_that_changes_nothing_changes_nothing(command: str) -> None:
    assert rewrite_commands(command, lambda words: words) == command


def test_a_word_that_a_rule_drops_takes_its_space_along() -> None:
    assert rewrite_commands("echo a b > c", lambda words: [words[0], "x", ""]) == "echo x > c"


def test_knows_redirections_by_their_kind() -> None:
    assert [token.kind for token in tokens_of("a 2>&1>b")] == [
        Kind.WORD,
        Kind.SPACE,
        Kind.DUPLICATE,
        Kind.REDIRECT,
        Kind.WORD,
    ]
