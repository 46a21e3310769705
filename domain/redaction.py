"""
Foreign text made safe to keep: what a command line says about the work, without what it quotes.

`redact_command` is a chain of small steps, each from text to text. The early steps work on the raw text (the
body of a heredoc may hold any character); `drop_quotes` then leaves bare words alone, so that every later
step sees a command without quotes, and redacting twice changes nothing.
"""

import re
from collections.abc import Callable

from tokeneconomizer.domain.command_rules import (
    hide_echoed_texts,
    hide_inline_code,
    hide_messages,
    hide_search_patterns,
    hide_values,
    program_name,
)
from tokeneconomizer.domain.command_templates import template_of
from tokeneconomizer.domain.secret_shapes import mask_known_secrets, mask_private_keys, mask_random_words
from tokeneconomizer.domain.shell_words import (
    CUT,
    EMPTY_WORD,
    PLACEHOLDER,
    TEXT,
    Kind,
    rewrite_commands,
    tokens_of,
    word_pieces,
)

# The specification's limit for a stored command line.
COMMAND_CHARACTERS_MAX = 500
# What is looked at: far beyond what is kept, small enough for a hook's milliseconds.
COMMAND_INPUT_CHARACTERS_MAX = 16_384
# A longer quoted word is prose or code, not the name of a test or a file.
QUOTED_WORD_CHARACTERS_MAX = 128
# A longer bare word is data; deep paths stay below it.
WORD_CHARACTERS_MAX = 200

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_HEREDOC = re.compile(r"(?<!<)<<(-?)[ \t]*+(?:'([^'\n]{1,64})'|\"([^\"\n]{1,64})\"|\\?([A-Za-z_]\w{0,63}))")
_LINE_JOINTS = frozenset({"; ", " "})
_CLOSING_OPERATORS = frozenset({")", "`"})
_CLOSING_MARKS = "'\")`;"
_URL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'`<>]*+")
# Passwords with a raw slash are no valid URL and common all the same: a colon that starts no port.
_URL_USER = re.compile(r"[^/?#]*@|[^/?#:]*:(?!\d{1,5}(?:/|$))[^@]*@")
_URL_TAIL = re.compile(r"[?#].*", re.DOTALL)
_SIMPLE_QUOTED = re.compile(rf"(?>(?:[A-Za-z0-9_./:@%+=,~*\[\]{{}}^$-]|{PLACEHOLDER})*)")
_ESCAPED_SPACE = re.compile(r"\\\s")
_ESCAPE_IN_DOUBLE_QUOTES = re.compile(r"\\([\\\"$`\n])")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_SHELL_CODE_FLAG = re.compile(r"-[a-z]*c")


def scrub(text: str) -> str:
    """Replace lone surrogates and control characters; only line feeds and tabs may stay."""
    return text if text.isprintable() else _UNSAFE.sub(_REPLACEMENT, text)


def cut_input(command: str) -> str:
    """Keep the beginning of a huge command, and no word that the cut parted."""
    if len(command) <= COMMAND_INPUT_CHARACTERS_MAX:
        return command
    kept = command[:COMMAND_INPUT_CHARACTERS_MAX]
    whole_words = kept[: max(map(kept.rfind, " \t\n"), default=-1) + 1]
    return whole_words + CUT


def drop_heredoc_bodies(command: str) -> str:
    """Keep the line that opens a heredoc, and the number of lines of its body."""
    if "<<" not in command or "\n" not in command:
        return command
    lines = command.split("\n")
    last_place = {line.lstrip("\t"): place for place, line in enumerate(lines)}
    kept: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        start = position
        ends = 0
        tail = ""
        opened = _HEREDOC.findall(line) if position < len(lines) else []
        for dash, *names in opened:
            delimiter = "".join(names)
            exact = last_place.get(delimiter, -1) >= position
            while position < len(lines) and not _ends_heredoc(
                lines[position], delimiter, dash=dash, exact=exact
            ):
                position += 1
            if position < len(lines):
                tail = lines[position].lstrip("\t").removeprefix(delimiter)
                ends += 1
            position += 1
        if opened:
            line = f"{line} {CUT}({min(position, len(lines)) - start - ends} lines)"
        kept += [line, tail] if tail else [line]
    return "\n".join(kept)


def _ends_heredoc(line: str, delimiter: str, *, dash: str, exact: bool) -> bool:
    """Whether a line ends a heredoc; inside `bash -c '…'` the closing quote may stand on the same line."""
    text = line.lstrip("\t") if dash else line
    return text == delimiter if exact else text.rstrip(_CLOSING_MARKS) == delimiter


def drop_url_secrets(command: str) -> str:
    """Take credentials, query strings and fragments out of URLs."""

    def safe(url: re.Match[str]) -> str:
        scheme, _, rest = url.group().partition("://")
        user = _URL_USER.match(rest)
        return f"{scheme}://{_URL_TAIL.sub('', rest[user.end() :] if user else rest)}"

    return _URL.sub(safe, command) if "://" in command else command


def unwrap_shells(command: str) -> str:
    """Read `bash -c '…'` as the commands inside it: one level, what is quoted deeper counts as text."""
    # The name of every shell ends so.
    return rewrite_commands(command, _unwrapped) if "sh" in command else command


def _unwrapped(words: list[str]) -> list[str]:
    shell = next((place for place, word in enumerate(words) if program_name(word) in _SHELLS), len(words))
    for position in range(shell + 1, len(words) - 1):
        if _SHELL_CODE_FLAG.fullmatch(words[position]):
            return [*words[: position + 1], _unquoted(words[position + 1]), *words[position + 2 :]]
    return words


def _unquoted(word: str) -> str:
    return "".join(
        _ESCAPE_IN_DOUBLE_QUOTES.sub(r"\1", piece.text) if piece.quote == '"' else piece.text
        for piece in word_pieces(word)
    ).strip()


def drop_quotes(command: str) -> str:
    """Take the quotes off names; replace quoted prose and code."""
    if not any(mark in command for mark in "'\"\\"):
        return command
    return "".join(
        _bare(token.text) if token.kind is Kind.WORD else token.text for token in tokens_of(command)
    )


def _bare(word: str) -> str:
    if _ESCAPED_SPACE.search(word) and "'" not in word and '"' not in word:
        return TEXT
    bare = "".join(
        _ESCAPED_SPACE.sub("", piece.text) if not piece.quote else _quoted(piece.text)
        for piece in word_pieces(word)
    )
    return bare or EMPTY_WORD


def _quoted(text: str) -> str:
    return text if len(text) <= QUOTED_WORD_CHARACTERS_MAX and _SIMPLE_QUOTED.fullmatch(text) else TEXT


def drop_long_words(command: str) -> str:
    """Replace words longer than any path: they are data."""
    if len(command) <= WORD_CHARACTERS_MAX:
        return command
    return "".join(
        TEXT if token.kind is Kind.WORD and len(token.text) > WORD_CHARACTERS_MAX else token.text
        for token in tokens_of(command)
    )


def to_one_line(command: str) -> str:
    """Join lines with `;`; drop comments and surplus spaces."""
    if "\n" not in command and "#" not in command:
        return " ".join(command.split())
    kept: list[str] = []
    needs_separator = False
    for token in tokens_of(command):
        if token.kind is Kind.NEWLINE:
            while kept and not kept[-1].strip():
                kept.pop()
            kept.append("; " if needs_separator else " ")
            needs_separator = False
        elif token.kind is Kind.SPACE:
            kept.append(" ")
        elif token.kind is not Kind.COMMENT:
            kept.append(token.text)
            needs_separator = token.kind is not Kind.OPERATOR or token.text in _CLOSING_OPERATORS
    while kept and kept[-1] in _LINE_JOINTS:
        kept.pop()
    return " ".join("".join(kept).split())


def hide_here_strings(command: str) -> str:
    """Replace the text after `<<<`."""
    if "<<<" not in command:
        return command
    kept: list[str] = []
    follows = False
    for token in tokens_of(command):
        kept.append(TEXT if token.kind is Kind.WORD and follows else token.text)
        if token.kind is not Kind.SPACE:
            follows = token.kind is Kind.REDIRECT and token.text.endswith("<<<")
    return "".join(kept)


def cut_output(command: str) -> str:
    """End a long command after a whole token."""
    if len(command) <= COMMAND_CHARACTERS_MAX:
        return command
    kept: list[str] = []
    room = COMMAND_CHARACTERS_MAX - len(CUT) - 1
    for token in tokens_of(command):
        room -= len(token.text)
        if room < 0:
            break
        kept.append(token.text)
    return f"{''.join(kept).rstrip()} {CUT}".lstrip()


REDACTION_STEPS: tuple[Callable[[str], str], ...] = (
    scrub,
    cut_input,
    drop_heredoc_bodies,
    mask_private_keys,
    drop_url_secrets,
    unwrap_shells,
    drop_quotes,
    drop_url_secrets,  # again: quotes may have parted a URL
    to_one_line,
    drop_long_words,
    hide_here_strings,
    hide_inline_code,
    hide_echoed_texts,
    hide_search_patterns,
    hide_messages,
    hide_values,
    mask_known_secrets,
    mask_random_words,
)


def shorten_home(command: str, home: str) -> str:
    """Write the user's home folder as `~`."""
    folder = home.rstrip("/")
    if not folder or folder not in command:
        return command
    whole_path = rf"(?:(?<![\w.~/-])|(?<=://)|(?<=[\s=:]-[A-Z])){re.escape(folder)}(?![\w.-])"
    return re.sub(whole_path, "~", command)


def redact_command(command: str, home: str = "") -> str:
    """Make a command line safe to store: one line of at most 500 characters."""
    # The home is written `~` in the raw text, and again where hiding something has parted a path's beginning.
    text = shorten_home(scrub(command[: COMMAND_INPUT_CHARACTERS_MAX + 1]), home)
    for step in REDACTION_STEPS:
        text = step(text)
    return cut_output(shorten_home(text, home))


def command_template(command: str) -> str:
    """Reduce a command line to its programs and flags, with placeholders for the values."""
    return template_of(redact_command(command))
