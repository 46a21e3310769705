"""Codex's tools in neutral words: what kind each is, what it runs, what it targets, what it writes."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.hosts.fields import text

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: dict[str, CallKind] = {
    "apply_patch": CallKind.EDIT,
    "container.exec": CallKind.SHELL,
    "exec_command": CallKind.SHELL,
    "followup_task": CallKind.AGENT,
    "grep_files": CallKind.SEARCH,
    "list_dir": CallKind.SEARCH,
    "local_shell": CallKind.SHELL,
    "read_file": CallKind.READ,
    "resume_agent": CallKind.AGENT,
    "send_input": CallKind.AGENT,
    "send_message": CallKind.AGENT,
    "shell": CallKind.SHELL,
    "shell_command": CallKind.SHELL,
    "sleep": CallKind.WAIT,
    "spawn_agent": CallKind.AGENT,
    "tool_search": CallKind.SEARCH,
    "view_image": CallKind.READ,
    "wait": CallKind.WAIT,
    "wait_agent": CallKind.WAIT,
    "web_search": CallKind.WEB,
}
"""Built-in tools of 0.20 to 0.171."""

MCP_PREFIX = "mcp__"

SHELL_IN_HOOKS = "Bash"
"""How hooks of 0.164 and 0.171 name what the model and the rollout call `exec_command`."""

COLLABORATION_IN_HOOKS = "collaboration"
"""The namespace of the tools for sub-agents, which hooks put before their names."""

_TARGET_FIELDS = ("path", "file_path", "dir_path", "url", "query")
_SHELL_FLAGS = re.compile(r"-[a-z]*c")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_NAMED_MCP_TOOL = re.compile(r"\bmcp__[A-Za-z0-9_-]{1,90}")
_WORD = re.compile(r"[a-z_]{2,30}")
_SKILL = re.compile(r"(?<![\w$])\$([a-z][a-z0-9:_-]{0,63})")


def name_of(namespace: str, name: str) -> str:
    """Return a tool's name as hooks have it: tools of an MCP server with their server."""
    return f"{namespace}__{name}" if namespace.startswith(MCP_PREFIX) else name


def name_of_hook(name: str) -> str:
    """Return the tool's name in rollouts for that in hooks, so that a tool has one name in the store."""
    if name == SHELL_IN_HOOKS:
        return "exec_command"
    return name.removeprefix(COLLABORATION_IN_HOOKS) or name


def arguments_of_hook(tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
    """Return the arguments as rollouts have them; hooks call every shell's and patch's text `command`."""
    names = {"exec_command": "cmd", "apply_patch": "input"}
    if tool not in names or not text(arguments, "command"):
        return arguments
    return {names[tool] if name == "command" else name: value for name, value in arguments.items()}


def kind_of(tool: str, arguments: Mapping[str, object]) -> CallKind:
    """Return the kind of a call; unknown tools are `other`."""
    if tool.startswith(MCP_PREFIX):
        return CallKind.MCP
    if tool == "write_stdin" and not text(arguments, "chars"):
        return CallKind.WAIT
    if is_patch(tool, arguments):
        return CallKind.EDIT
    return KINDS.get(tool, CallKind.OTHER)


def server_of(tool: str) -> str:
    """Return the MCP server's name of `mcp__server__tool`; empty for built-in tools."""
    if not tool.startswith(MCP_PREFIX):
        return ""
    return tool.removeprefix(MCP_PREFIX).partition("__")[0] or "unknown"


def command_of(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the command line of a shell call; empty for other calls."""
    if kind_of(tool, arguments) is not CallKind.SHELL:
        return ""
    return text(arguments, "cmd") or text(arguments, "command") or command_line(words_of(arguments))


def command_line(words: list[str]) -> str:
    """Return the script of `bash -lc script`, else the words as one line."""
    if len(words) == 3 and _SHELL_FLAGS.fullmatch(words[1]):  # noqa: PLR2004 - program, flag, script
        return words[2]
    return shlex.join(words)


def words_of(arguments: Mapping[str, object]) -> list[str]:
    """Return a command that is told as a list."""
    command = arguments.get("command")
    return [word for word in command if isinstance(word, str)] if isinstance(command, list) else []


def is_patch(tool: str, arguments: Mapping[str, object]) -> bool:
    """Whether a call edits by a patch, which older models give to the shell."""
    return tool == "apply_patch" or words_of(arguments)[:1] == ["apply_patch"]


def patch_of(arguments: Mapping[str, object]) -> str:
    """Return the patch of an editing call."""
    return text(arguments, "input") or text(arguments, "patch") or "\n".join(words_of(arguments)[1:])


def target_of(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the path or address that the call is about: of several patched files, the first."""
    if is_patch(tool, arguments):
        found = _PATCHED_FILE.search(patch_of(arguments))
        return found.group(1).strip() if found else ""
    return next((value for name in _TARGET_FIELDS if (value := text(arguments, name))), "")


def edited_by(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the lines that a patch adds; empty for other calls."""
    if not is_patch(tool, arguments):
        return ""
    lines = patch_of(arguments).splitlines()
    added = [line[1:] for line in lines if line.startswith("+")]
    # A deletion writes nothing, and is an edit all the same.
    return "\n".join(added or ["delete", *(line[1:] for line in lines if line.startswith("-"))])


def tools_named_in(prompt: str) -> tuple[str, ...]:
    """Return the tools that a prompt names; these are never proposed for pruning."""
    built_in = {word for word in _WORD.findall(prompt) if word in KINDS and "_" in word}
    return tuple(sorted(built_in | set(_NAMED_MCP_TOOL.findall(prompt))))


def skills_named_in(prompt: str) -> tuple[str, ...]:
    """Return the skills that a prompt asks for, as in `$name`."""
    return tuple(dict.fromkeys(_SKILL.findall(prompt)))
