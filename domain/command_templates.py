"""The shape of a command: programs, sub-commands and flags, with placeholders for values."""

import re

from tokeneconomizer.domain.command_rules import program_name
from tokeneconomizer.domain.shell_words import (
    CUT,
    EMPTY_WORD,
    PLACEHOLDER,
    Kind,
    Token,
    argument_positions,
    tokens_of,
)

# Enough to tell one kind of work from another; templates are shown in tables.
TEMPLATE_CHARACTERS_MAX = 200

PATH = "<path>"
URL = "<url>"
NUMBER = "<number>"
WORD = "<word>"
ASSIGNED = "<value>"

# Words before the program that is meant.
_LEADING_WORDS = frozenset(
    {
        *("sudo", "env", "time", "nohup", "exec", "command", "xargs", "timeout", "nice", "watch"),
        *("if", "then", "elif", "else", "while", "until", "do", "for", "!", "{"),
    },
)
# How many words after a program name the command itself.
_SUBCOMMAND_WORDS = {
    **dict.fromkeys(
        ("git", "cargo", "go", "make", "uv", "pip", "poetry", "dotnet", "mvn", "gradle", "rake"), 1
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "deno", "npx", "bundle", "terraform", "helm", "brew"), 1),
    **dict.fromkeys(
        ("docker", "podman", "kubectl", "gradlew", "mix", "rustup", "pipx", "hatch", "tox", "nox"), 1
    ),
    **dict.fromkeys(
        ("apt", "apt-get", "systemctl", "conda", "just", "task", "bazel", "swift", "jj", "hg", "gt"), 1
    ),
    **dict.fromkeys(("gh", "glab", "aws", "gcloud", "az"), 2),
}
# Sub-commands after which one more word belongs to the name: `npm run test`, `docker compose up`.
_LONGER_SUBCOMMANDS = frozenset({"run", "run-script", "compose", "stash", "remote", "worktree", "workspace"})
# Sub-commands and flags after which another program starts: `uv run pytest`, `python -m pytest`.
_PROGRAM_FOLLOWS = frozenset({("uv", "run"), ("poetry", "run"), ("hatch", "run"), ("bundle", "exec")})
_PROGRAM_FOLLOWS_FLAG = frozenset({("python", "-m"), ("pnpm", "exec"), ("npm", "exec")})
_RUNNERS = frozenset({"npx", "bunx", "uvx", "pipx"})

_KEPT_WORDS = frozenset(
    {
        "./...",
        "-",
        "--",
        ".",
        "..",
        "/dev/null",
        EMPTY_WORD,
        "}",
        "{}",
        "]",
        "]]",
        "fi",
        "done",
        "esac",
        "in",
    },
)

_NAME = re.compile(r"[A-Za-z0-9_.][\w.+:-]{0,39}|\[{1,2}")
_FLAG = re.compile(r"--?[A-Za-z0-9][\w-]{0,39}|--")
_FLAG_WITH_VALUE = re.compile(r"(--?[A-Za-z][\w-]{0,39}=).+", re.DOTALL)
_PLACEHOLDER = re.compile(PLACEHOLDER)
_ASSIGNED = re.compile(r"(?:\$env:)?[A-Za-z_][\w.-]*\+?=.*", re.DOTALL)
_HIDDEN_PROGRAM = "<program>"


def template_of(redacted: str) -> str:
    """Name the work of a command line that `redact_command` has made safe."""
    tokens = tokens_of(redacted)
    of_commands: dict[int, str] = {}
    for positions in argument_positions(redacted):
        of_commands.update(
            zip(positions, _command_shapes([tokens[at].text for at in positions]), strict=True)
        )
    shapes = (of_commands[at] if at in of_commands else _shape(token) for at, token in enumerate(tokens))
    pieces: list[str] = []
    for piece in "".join(shapes).split():
        # `rm a b c` and `rm a b` are the same work.
        if not pieces or piece != pieces[-1] or piece.startswith("-"):
            pieces.append(piece)
    return _cut(pieces)


def _shape(token: Token) -> str:
    """Shape what is no word of a command: a sign, or the target of a redirection."""
    if token.kind is Kind.WORD:
        return _value_shape(token.text)
    return f"{token.text} " if token.kind is Kind.REDIRECT else token.text


def _cut(pieces: list[str]) -> str:
    text = " ".join(pieces)
    while len(text) > TEMPLATE_CHARACTERS_MAX:
        pieces = pieces[:-1]
        text = " ".join([*pieces, CUT])
    return text


def _command_shapes(words: list[str]) -> list[str]:
    shapes: list[str] = []
    program = ""
    wanted = 0
    for position, word in enumerate(words):
        previous = words[position - 1] if position else ""
        if program and _starts_program(program, previous):
            program = ""
        if _FLAG.fullmatch(word):
            shapes.append(word)
        elif not program:
            if _ASSIGNED.fullmatch(word):
                shapes.append("")
            elif word in _LEADING_WORDS or word.isdigit():
                shapes.append(word if word in _LEADING_WORDS else NUMBER)
            else:
                program = program_name(word)
                wanted = _SUBCOMMAND_WORDS.get(program, 0)
                shapes.append(program if _NAME.fullmatch(program) else _HIDDEN_PROGRAM)
                program = program or _HIDDEN_PROGRAM
        elif wanted and _NAME.fullmatch(word):
            wanted += word in _LONGER_SUBCOMMANDS
            wanted -= 1
            shapes.append(word)
        else:
            shapes.append(_value_shape(word))
    return shapes if program else [shape or ASSIGNED for shape in shapes]


def _starts_program(program: str, previous: str) -> bool:
    pair = (program, previous)
    return (
        pair in _PROGRAM_FOLLOWS
        or pair in _PROGRAM_FOLLOWS_FLAG
        or (previous == program and program in _RUNNERS)
    )


def _value_shape(word: str) -> str:
    assigned = _FLAG_WITH_VALUE.fullmatch(word)
    if assigned:
        return assigned[1] + ASSIGNED
    if word in _KEPT_WORDS:
        return word
    if _ASSIGNED.fullmatch(word):
        return ASSIGNED
    return _noun(word)


def _noun(word: str) -> str:
    placeholder = _PLACEHOLDER.search(word)
    if "://" in word:
        return URL
    if "/" in word or (not placeholder and any(mark in word for mark in ".\\~*")):
        return PATH
    if placeholder:
        return placeholder.group()
    return NUMBER if word.isdigit() else WORD
