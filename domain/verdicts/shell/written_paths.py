"""The files that a program writes, as far as its words name them; redirections are read elsewhere."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.names import (
    COMPUTED,
    UNKNOWN_PATH,
    base_name,
    is_option,
    join_path,
    operand_position,
    operands,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_UNKNOWN = [UNKNOWN_PATH]

# Code that is searched for what it writes; more is no one-liner or heredoc of an agent.
_CODE_CHARACTERS_MAX = 65_536
_CODE_WRITES = re.compile(
    r"""\bopen\(\s*(?:["'](?P<opened>[^"'\n]+)["']|[^()"'\n]{1,80})\s*,\s*(?:mode\s*=\s*)?["'][wax]
    |(?:Path\(\s*["'](?P<path>[^"'\n]+)["']\s*\))?\.write_(?:text|bytes)\(
    |\b(?:write|append)File(?:Sync)?\(\s*(?:["'`](?P<node>[^"'`\n]+)["'`])?
    |\bFile\.write\(\s*(?:["'](?P<ruby>[^"'\n]+)["'])?
    """,
    re.VERBOSE,
)
_PATCHED_FILE = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.MULTILINE
)
_DIFF_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
_IN_PLACE = re.compile(r"-[A-Za-z]*i.*|--in-place(?:=.*)?", re.DOTALL)
_PERL_IN_PLACE = re.compile(r"-[A-Za-z0-9]*i.*", re.DOTALL)
_SED_SCRIPT = re.compile(r"-[A-Za-z]*[ef]|--expression|--file")

_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
_GIT_CHANGES_FILES = frozenset({"am", "cherry-pick", "clean", "merge", "pull", "rebase", "revert", "switch"})
_STASH_READS = frozenset({"list", "show", "drop", "clear", "create", "branch"})
_PATCH_TRIES = frozenset({"--dry-run", "--check", "--stat", "--cached"})
_TARGET_OPTIONS = frozenset({"-t", "--target-directory"})
_CMDLET_VALUED = frozenset({"-Encoding", "-Value", "-ItemType", "-Name", "-Width"})
_COPY_VALUED = frozenset(
    {"-m", "-o", "-g", "-S", "--mode", "--owner", "--group", "--suffix", "--exclude", "-e"}
)


def _last(arguments: Sequence[str]) -> list[str]:
    for position, word in enumerate(arguments[:-1]):
        if word in _TARGET_OPTIONS:
            return [arguments[position + 1]]
    return operands(arguments, _COPY_VALUED)[-1:]


def _copied(arguments: Sequence[str]) -> list[str]:
    """`cp a folder/`: the file in the folder."""
    target = _last(arguments)
    sources = [word for word in operands(arguments, _COPY_VALUED) if word not in target]
    if target and sources and target[0].endswith("/"):
        return [f"{target[0]}{base_name(source)}" for source in sources]
    return target


def _moved(arguments: Sequence[str]) -> list[str]:
    sources = operands(arguments, _COPY_VALUED)
    return [*sources[:-1], *_copied(arguments)] if len(sources) > 1 else _copied(arguments)


def _sed(arguments: Sequence[str]) -> list[str]:
    if not any(_IN_PLACE.fullmatch(word) for word in arguments if is_option(word)):
        return []
    files: list[str] = []
    script_seen = skip = False
    for word in arguments:
        if skip:
            skip = False
        elif _SED_SCRIPT.fullmatch(word):
            script_seen = skip = True
        elif word and not is_option(word):
            files.append(word)
    return files if script_seen else files[1:]


def _perl(arguments: Sequence[str]) -> list[str]:
    if not any(_PERL_IN_PLACE.fullmatch(word) for word in arguments if is_option(word)):
        return []
    files: list[str] = []
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif is_option(word):
            skip = word[1] != "-" and word[-1] in "eE"
        else:
            files.append(word)
    return files


def _git(arguments: Sequence[str]) -> list[str]:
    position = operand_position(arguments, _GIT_VALUED)
    if position >= len(arguments):
        return []
    folder = next(
        (value for word, value in pairwise(arguments[:position]) if word == "-C"),
        "",
    )
    changed = _git_subcommand(arguments[position], list(arguments[position + 1 :]))
    return [join_path(folder, path) for path in changed]


def _git_subcommand(subcommand: str, rest: list[str]) -> list[str]:
    if subcommand in {"checkout", "restore"}:
        if "--staged" in rest and "--worktree" not in rest:
            return []
        if "--" in rest:
            return rest[rest.index("--") + 1 :]
        names = operands(rest, frozenset({"-s", "--source", "-b", "-B"}))
        if subcommand == "restore":
            return names or _UNKNOWN
        return [] if {"-b", "-B"} & set(rest) else _UNKNOWN
    if subcommand in {"mv", "rm"}:
        return [] if "--cached" in rest else operands(rest)
    changes = (
        subcommand in _GIT_CHANGES_FILES
        or (subcommand == "reset" and bool({"--hard", "--merge", "--keep"} & set(rest)))
        or (subcommand == "stash" and not (rest and rest[0] in _STASH_READS))
    )
    return _UNKNOWN if changes else []


def _value_of(*options: str) -> Callable[[Sequence[str]], list[str]]:
    def find(arguments: Sequence[str]) -> list[str]:
        found: list[str] = []
        for position, word in enumerate(arguments):
            name, equals, value = word.partition("=")
            if equals and name in options:
                found.append(value)
            elif word in options and position + 1 < len(arguments):
                found.append(arguments[position + 1])
        return found

    return find


def _formatter(*needed: str, without: Sequence[str] = ()) -> Callable[[Sequence[str]], list[str]]:
    """Give a rule for a program that rewrites the files it is given, with one of these words or always."""

    def find(arguments: Sequence[str]) -> list[str]:
        words = set(arguments)
        if (needed and words.isdisjoint(needed)) or not words.isdisjoint(without):
            return []
        files = [word for word in operands(arguments) if word not in needed and ("." in word or "/" in word)]
        return files or _UNKNOWN

    return find


def _dd(arguments: Sequence[str]) -> list[str]:
    return [word.removeprefix("of=") for word in arguments if word.startswith("of=")]


def _patch(arguments: Sequence[str]) -> list[str]:
    return operands(arguments, frozenset({"-p", "-i", "-d", "--input", "--directory"}))[:1]


def _unpacked(arguments: Sequence[str]) -> list[str]:
    first = arguments[0] if arguments else ""
    extracts = "--extract" in arguments or ("x" in first and not first.startswith("--"))
    return _UNKNOWN if extracts else []


def _all(arguments: Sequence[str]) -> list[str]:
    return operands(arguments)


def _always_unknown(_arguments: Sequence[str]) -> list[str]:
    return _UNKNOWN


def _truncated(arguments: Sequence[str]) -> list[str]:
    return operands(arguments, frozenset({"-s", "--size", "-r", "--reference"}))


def _fetched(arguments: Sequence[str]) -> list[str]:
    return _UNKNOWN if "-O" in arguments else _value_of("-o", "--output")(arguments)


def _ruff(arguments: Sequence[str]) -> list[str]:
    if "--check" in arguments or "--diff" in arguments:
        return []
    return _formatter("format", "--fix")(arguments)


def _cmdlet_target(arguments: Sequence[str]) -> list[str]:
    named = _value_of("-Path", "-LiteralPath", "-FilePath")(arguments)
    found = named or operands(arguments, _CMDLET_VALUED)[:1]
    return [UNKNOWN_PATH if path == COMPUTED else path for path in found]


_RULES: dict[str, Callable[[Sequence[str]], list[str]]] = {
    **dict.fromkeys(("tee", "touch", "rm", "unlink", "Remove-Item", "del"), _all),
    **dict.fromkeys(("cp", "install", "ln", "rsync", "scp", "Copy-Item", "copy"), _copied),
    **dict.fromkeys(("mv", "Move-Item", "Rename-Item", "move"), _moved),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("perl", "ruby"), _perl),
    **dict.fromkeys(("unzip", "gunzip", "gzip", "dos2unix", "2to3", "patchutils"), _always_unknown),
    **dict.fromkeys(("tar", "bsdtar"), _unpacked),
    **dict.fromkeys(
        ("black", "isort", "autopep8", "rustfmt", "yapf"), _formatter(without=("--check", "--diff"))
    ),
    **dict.fromkeys(("gofmt", "goimports", "gofumpt"), _formatter("-w")),
    **dict.fromkeys(("eslint", "stylelint", "oxlint", "golangci-lint"), _formatter("--fix")),
    "awk": _value_of(),
    "biome": _formatter("--write", "--apply", "--fix"),
    "cargo": _formatter("fmt", "fix", without=("--check",)),
    "clang-format": _formatter("-i"),
    "curl": _fetched,
    "dart": _formatter("format", "fix"),
    "dd": _dd,
    "git": _git,
    "go": _formatter("fmt"),
    "mix": _formatter("format", without=("--check-formatted",)),
    "prettier": _formatter("--write", "-w"),
    "rubocop": _formatter("-a", "-A", "--autocorrect", "--autocorrect-all"),
    "ruff": _ruff,
    "sponge": _all,
    "truncate": _truncated,
    "wget": _value_of("-O", "--output-document"),
    "New-Item": lambda arguments: [] if "Directory" in arguments else _cmdlet_target(arguments),
    **dict.fromkeys(
        ("Add-Content", "Clear-Content", "Out-File", "Set-Content", "Tee-Object", "ac", "sc"),
        _cmdlet_target,
    ),
}


_CODE_OPTIONS = {
    "python": frozenset({"-c"}),
    "node": frozenset({"-e", "--eval", "-p"}),
    "bun": frozenset({"-e", "--eval"}),
    "ruby": frozenset({"-e"}),
    "deno": frozenset({"eval"}),
}


def written_paths(program: str, arguments: Sequence[str], input_text: str) -> list[str]:
    """Give the paths that an invocation writes; `?` for files that its words do not name."""
    if program in {"apply_patch", "applypatch"}:
        text = input_text or " ".join(arguments)
        return [match.group(1) or match.group(2) for match in _PATCHED_FILE.finditer(text)] or _UNKNOWN
    if program == "patch" or (program == "git" and "apply" in arguments):
        return _patched(program, arguments, input_text)
    code_options = _CODE_OPTIONS.get(program)
    if code_options is not None:
        return _written_by_code(arguments, input_text, code_options)
    rule = _RULES.get(program)
    return rule(arguments) if rule else []


def _patched(program: str, arguments: Sequence[str], input_text: str) -> list[str]:
    if not _PATCH_TRIES.isdisjoint(arguments):
        return []
    named = _patch(arguments) if program == "patch" else []
    return named or _DIFF_FILE.findall(input_text) or _UNKNOWN


def _written_by_code(arguments: Sequence[str], input_text: str, options: frozenset[str]) -> list[str]:
    code = input_text if not arguments or arguments[0] == "-" else ""
    for position, word in enumerate(arguments[:-1]):
        if word in options:
            code = arguments[position + 1]
            break
    found = _CODE_WRITES.finditer(code[:_CODE_CHARACTERS_MAX])
    return [next((name for name in match.groups() if name), UNKNOWN_PATH) for match in found]
