"""
Asking through Codex: one request, no hooks, no MCP servers, no session kept, nothing that may be written.

Measured on 0.171.0. Its tool for scripts stays in the request, under a sandbox that only reads; the
instructions take the place of its own. A provider whose key is in a variable of another name than
OPENAI_API_KEY cannot be asked: the hook client hands over no other.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.codex.installation import BINARY, CONFIG_FILE, codex_home
from tokeneconomizer.hosts.codex.pruning import read_config
from tokeneconomizer.hosts.fields import mapping, text
from tokeneconomizer.hosts.side_call import NO_LEFTOVERS, Answer, CommandLine, Leftovers, printed_objects

if TYPE_CHECKING:
    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.hosts.side_call import Question

MODEL = "gpt-6-luna"
"""The smallest one: a digest of some thousand characters asks for no more."""

CONFIG_BYTES_MAX = 5_000_000
"""A configuration is some kilobytes."""

FLAGS = (
    *("exec", "--json", "--color", "never", "--skip-git-repo-check", "--ephemeral", "--ignore-rules"),
    *("--sandbox", "read-only", "--model", MODEL),
)

TURN_ENDS = frozenset({"turn.completed", "turn.failed"})

FEATURES_OFF = ("apps", "goals", "hooks", "plugins", "shell_tool", "sleep_tool", "view_image")

SETTINGS = (
    "agents.enabled=false",
    'approval_policy="never"',
    'model_reasoning_effort="low"',
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    'web_search="disabled"',
)


def command_line(question: Question) -> CommandLine:
    """Return how the question is asked."""
    settings = [*SETTINGS, f"instructions={_quoted(question.instructions)}"]
    if question.homes is not None:
        settings += _servers_off(question.homes)
    arguments = [*FLAGS]
    for feature in FEATURES_OFF:
        arguments += ["--disable", feature]
    for setting in settings:
        arguments += ["--config", setting]
    return CommandLine(BINARY, (*arguments, "-"), question.text.encode())


def _servers_off(homes: AgentHomes) -> list[str]:
    """Return the setting that keeps the user's MCP servers from being started: an empty table does not."""
    try:
        with (codex_home(homes) / CONFIG_FILE).open("rb") as file:
            servers = read_config(file.read(CONFIG_BYTES_MAX)).get("mcp_servers")
    except OSError:
        return []
    names = [_quoted(name) for name in servers] if isinstance(servers, dict) else []
    off = ",".join(f"{name}={{enabled=false}}" for name in names)
    return [f"mcp_servers={{{off}}}"] if off else []


def _quoted(words: str) -> str:
    """Return a string of TOML: one of JSON, but for the one character that it has to escape besides."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def answer_in(output: bytes) -> Answer | None:
    """Return the model's last message among the events that were printed; its price is not told."""
    events = list(printed_objects(output))
    if not any(event.get("type") in TURN_ENDS for event in events):
        return None
    items = [mapping(event, "item") for event in events if event.get("type") == "item.completed"]
    said = [text(item, "text") for item in items if item.get("type") == "agent_message"]
    return Answer(said[-1] if said else "", MODEL, None)


def leftovers(_line: CommandLine, _output: bytes, _homes: AgentHomes) -> Leftovers:
    """Return nothing: an ephemeral session leaves no log."""
    return NO_LEFTOVERS
