"""
What the arguments of well-known programs give away, and how each is hidden: one function for each family.

They expect a command without quotes (see `redaction.drop_quotes`) and look for the program anywhere in a
simple command, because `sudo`, `xargs`, `find -exec`, `uv run` and the like come first. A word that only
happens to be called like a program costs a placeholder too many and never a leak.
"""

import re
from functools import lru_cache

from tokeneconomizer.domain.secret_shapes import (
    MAY_NAME_SECRET,
    announces_secret,
    is_secret_name,
    split_secret_assignment,
)
from tokeneconomizer.domain.shell_words import (
    CODE,
    EMPTY_WORD,
    HIDDEN,
    PATTERN,
    TEXT,
    VALUE,
    argument_positions,
    rewrite_commands,
    tokens_of,
)

_VERSIONED = re.compile(r"(python|pypy|ipython|ruby|perl|php|lua|node|pip)[\d.]+")

_VERSION_ENDS = frozenset("0123456789.")

_ECHOES = frozenset({"echo", "printf", "say", "logger", "notify-send", "Write-Output", "Write-Host"})

_SEARCHES = frozenset(
    {"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "findstr", "Select-String"},
)
_SEARCH_VALUE_FLAGS = frozenset(
    {
        *("-A", "-B", "-C", "-m", "-f", "-g", "-t", "-T", "-d", "-D", "-j", "-M", "-Path"),
        *(
            "--include",
            "--exclude",
            "--exclude-dir",
            "--glob",
            "--iglob",
            "--type",
            "--type-not",
            "--max-count",
        ),
        *("--context", "--after-context", "--before-context", "--file", "--color", "--colour", "--max-depth"),
    },
)
_SEARCH_PATTERN_FLAG = re.compile(r"-[A-Za-z]{0,6}e|--regexp|-Pattern")
_SEARCH_PATTERN_ATTACHED = re.compile(r"(-e|--regexp=).+", re.DOTALL)
_SEARCH_REPLACEMENTS = frozenset({"-r", "--replace"})
# No search takes that many flags in one word: it is a flag with its pattern attached.
_FLAG_CLUSTER_CHARACTERS_MAX = 8

_PYTHON = re.compile(r"-[A-Za-z]*c")
_NODE = re.compile(r"-(?:e|p|pe)|--eval|--print|eval")
_PERL = re.compile(r"-[\w.]*[eE]")
_SQL = re.compile(r"-[ceqQ]|--command|--execute")
_POWERSHELL = re.compile(r"-(?:c|command|encodedcommand|ec?)", re.IGNORECASE)
_EVAL = re.compile(r"-ex?|-E|--eval")
# The flags after which a program takes code.
_CODE_FLAGS: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("python", "pypy", "ipython"), _PYTHON),
    **dict.fromkeys(("node", "nodejs", "bun", "deno", "tsx", "ts-node"), _NODE),
    **dict.fromkeys(("perl", "ruby"), _PERL),
    "php": re.compile(r"-r"),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlcmd", "clickhouse-client", "duckdb", "snowsql"), _SQL),
    **dict.fromkeys(("pwsh", "powershell"), _POWERSHELL),
    **dict.fromkeys(("lua", "Rscript", "osascript", "julia", "swift", "elixir", "gdb", "ghci"), _EVAL),
    **dict.fromkeys(("emacs", "mongosh", "mongo", "scala", "groovy", "racket", "guile"), _EVAL),
}
# Programs whose first argument is code: the flags that take values, and how many values.
_SCRIPT_PROGRAMS: dict[str, dict[str, int]] = {
    **{program: {} for program in ("sed", "gsed")},
    **{program: {"-F": 1, "-v": 1} for program in ("awk", "gawk", "mawk", "nawk")},
    "jq": {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--indent": 1},
    "yq": {"-o": 1, "-p": 1},
}
_TAKING_CODE = _CODE_FLAGS.keys() | _SCRIPT_PROGRAMS.keys()
_SCRIPT_FLAG = re.compile(r"-[A-Za-z]*e|--expression")
_SCRIPT_FILE_FLAG = re.compile(r"-[A-Za-z]*f|--file|--from-file")

_COMMIT_MESSAGE = re.compile(r"-[a-z]*m")
_ISSUE_MESSAGE = re.compile(r"-[mtbdn]")
_MESSAGE_FLAGS = {
    **dict.fromkeys(("git", "hg", "gt", "svn", "jj"), _COMMIT_MESSAGE),
    **dict.fromkeys(("gh", "glab"), _ISSUE_MESSAGE),
    "curl": re.compile(r"-[dF]"),
}
_LONG_MESSAGE_FLAG = re.compile(
    r"(?:--(?:message|title|body|subject|notes?|comment|description|desc|reason|grep|prompt|text)"
    r"|--data(?:-\w+)?)",
)
_ASSIGNED_MESSAGE = re.compile(rf"({_LONG_MESSAGE_FLAG.pattern}=|-[SG](?=.)).+", re.DOTALL)

_ASSIGNMENT = re.compile(r"((?:\$env:)?[A-Za-z_][\w.-]*)(\+?=)(?!=)(.+)", re.DOTALL)
# Switches and small numbers help to read a command and hide nothing.
_HARMLESS_VALUE = re.compile(r"\d{1,4}|true|false|yes|no|on|off", re.IGNORECASE)
_USER_FLAGS = frozenset({"-u", "-U", "-a", "--user", "--proxy-user"})
_ATTACHED_USER = re.compile(r"(-u|--user=|--proxy-user=)[^:]+:.+", re.DOTALL)
_USER_AND_GROUP_NUMBERS = re.compile(r"\d+:\d+")
# The one-letter flags of these programs that take a password.
_PASSWORD_FLAGS = {
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "mongo", "mongosh"), "-p"),
    **dict.fromkeys(("login", "7z"), "-p"),
    **dict.fromkeys(("zip", "unzip", "sqlcmd"), "-P"),
    "redis-cli": "-a",
    "ldapsearch": "-w",
    "curl": "-b",
}


def program_name(word: str) -> str:
    """Name the program that a word runs: without folders, version and `.exe`."""
    name = word.rpartition("/")[2].removesuffix(".exe")
    # Asked for every word of every command: few end in a digit.
    versioned = _VERSIONED.fullmatch(name) if name[-1:] in _VERSION_ENDS else None
    return versioned[1] if versioned else name


# A chain of rules asks about one command; the newest alone is kept.
@lru_cache(maxsize=1)
def _names_in(command: str) -> frozenset[str]:
    """Name each word of a command as if it were a program: rules for other programs need not look at it."""
    tokens = tokens_of(command)
    return frozenset(
        program_name(tokens[position].text)
        for positions in argument_positions(command)
        for position in positions
    )


def hide_inline_code(command: str) -> str:
    """Replace the code that interpreters take as an argument: `python -c …`, `sed …`, `psql -c …`."""
    if _TAKING_CODE.isdisjoint(_names_in(command)):
        return command
    return rewrite_commands(command, _without_code)


def hide_echoed_texts(command: str) -> str:
    """Replace all arguments of `echo` and its like by one placeholder."""
    return command if _ECHOES.isdisjoint(_names_in(command)) else rewrite_commands(command, _without_echoed)


def hide_search_patterns(command: str) -> str:
    """Replace the patterns of `grep` and its like: they quote source."""
    if _SEARCHES.isdisjoint(_names_in(command)):
        return command
    return rewrite_commands(command, _without_patterns)


def hide_messages(command: str) -> str:
    """Replace commit messages, titles, bodies and request data, also those of one word."""
    if "--" not in command and _MESSAGE_FLAGS.keys().isdisjoint(_names_in(command)):
        return command
    return rewrite_commands(command, _without_messages)


def hide_values(command: str) -> str:
    """Replace values of variables, and of whatever is named like a secret."""
    if not MAY_NAME_SECRET.search(command) and _PASSWORD_FLAGS.keys().isdisjoint(_names_in(command)):
        return command
    return rewrite_commands(command, _without_values)


def _without_code(words: list[str]) -> list[str]:
    rewritten = list(words)
    code_flag: re.Pattern[str] | None = None
    has_script = False
    for position, word in enumerate(words):
        name = program_name(word)
        if not has_script and name in _SCRIPT_PROGRAMS:
            has_script = True
            _hide_script(rewritten, position + 1, _SCRIPT_PROGRAMS[name])
        code_flag = _CODE_FLAGS.get(name, code_flag)
        if code_flag is None or not word.startswith(("-", "eval")):
            continue
        if code_flag.fullmatch(word):
            if position + 1 < len(words):
                rewritten[position + 1] = CODE
        elif TEXT in word:
            rewritten[position] = word.replace(TEXT, CODE)
    return rewritten


def _hide_script(words: list[str], start: int, value_flags: dict[str, int]) -> None:
    """Replace the first argument that is no flag, or every `-e`."""
    position = start
    has_script = False
    while position < len(words):
        word = words[position]
        if word in value_flags:
            position += value_flags[word]
        elif _SCRIPT_FILE_FLAG.fullmatch(word):
            has_script = True
            position += 1
        elif _SCRIPT_FLAG.fullmatch(word):
            has_script = True
            position += 1
            if position < len(words):
                words[position] = CODE
        elif not word.startswith("-") and word != EMPTY_WORD and not has_script:
            has_script = True
            words[position] = CODE
        elif TEXT in word:
            words[position] = word.replace(TEXT, CODE)
        position += 1


def _without_echoed(words: list[str]) -> list[str]:
    for position, word in enumerate(words):
        if program_name(word) in _ECHOES and position + 1 < len(words):
            return [*words[: position + 1], TEXT, *[""] * (len(words) - position - 2)]
    return words


def _without_patterns(words: list[str]) -> list[str]:
    rewritten = list(words)
    start = next((place for place, word in enumerate(words) if program_name(word) in _SEARCHES), len(words))
    has_pattern = False
    skip = False
    for position in range(start + 1, len(words)):
        word = words[position]
        previous = words[position - 1]
        if _SEARCH_PATTERN_FLAG.fullmatch(previous) or (previous in _SEARCH_REPLACEMENTS and has_pattern):
            rewritten[position] = PATTERN
            has_pattern = True
        elif skip:
            skip = False
        elif word in _SEARCH_VALUE_FLAGS:
            skip = True
        elif word.startswith("-"):
            rewritten[position] = _flag_without_pattern(word)
        elif not has_pattern and not word.isdigit():
            rewritten[position] = PATTERN
            has_pattern = True
    return rewritten


def _flag_without_pattern(word: str) -> str:
    attached = _SEARCH_PATTERN_ATTACHED.fullmatch(word)
    if attached:
        return attached[1] + PATTERN
    is_cluster = not word.startswith("--") and not word[1:].isdigit()
    return PATTERN if is_cluster and len(word) > _FLAG_CLUSTER_CHARACTERS_MAX else word


def _without_messages(words: list[str]) -> list[str]:
    rewritten = list(words)
    short_flag: re.Pattern[str] | None = None
    for position, word in enumerate(words):
        if not word.startswith("-"):
            short_flag = short_flag or _MESSAGE_FLAGS.get(program_name(word))
            continue
        assigned = _ASSIGNED_MESSAGE.fullmatch(word)
        is_flag = _LONG_MESSAGE_FLAG.fullmatch(word) or (short_flag and short_flag.fullmatch(word))
        if assigned and (short_flag or word.startswith("--")):
            rewritten[position] = assigned[1] + TEXT
        elif is_flag and position + 1 < len(words):
            rewritten[position + 1] = TEXT
    return rewritten


def _without_values(words: list[str]) -> list[str]:
    rewritten: list[str] = []
    password_flag = ""
    previous = ""
    hides_next = False
    for word in words:
        password_flag = _PASSWORD_FLAGS.get(program_name(word), password_flag)
        if hides_next and word == "=":
            rewritten.append(word)
            continue
        is_value = hides_next and not word.startswith("--")
        if is_value or (
            previous in _USER_FLAGS and ":" in word and not _USER_AND_GROUP_NUMBERS.fullmatch(word)
        ):
            rewritten.append(HIDDEN)
        else:
            rewritten.append(_without_value(word, password_flag))
        hides_next = (
            word == password_flag or (announces_secret(word) and not is_value) or word.lower() == "bearer"
        )
        previous = word
    return rewritten


def _without_value(word: str, password_flag: str) -> str:
    if password_flag and word.startswith(password_flag) and word != password_flag:
        return password_flag + HIDDEN
    user = _ATTACHED_USER.fullmatch(word) if word.startswith("-") else None
    if user:
        return user[1] + HIDDEN
    secret = split_secret_assignment(word)
    if secret:
        return secret[0] + HIDDEN
    assigned = _ASSIGNMENT.fullmatch(word) if "=" in word else None
    if not assigned:
        return word
    harmless = _HARMLESS_VALUE.fullmatch(assigned[3]) and not is_secret_name(assigned[1])
    return word if harmless else assigned[1] + assigned[2] + VALUE
