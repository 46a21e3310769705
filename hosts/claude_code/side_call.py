"""
Asking through Claude Code: one request, no tools, no hooks, no files, no transcript.

Measured on 2.1.310 and 2.1.332: with `--safe-mode` no hook of the user, the project or a plugin ran and no
CLAUDE.md was read, while the user's own login was kept.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code.installation import BINARY
from tokeneconomizer.hosts.side_call import NO_LEFTOVERS, Answer, CommandLine

if TYPE_CHECKING:
    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.hosts.side_call import Leftovers, Question

MODEL = "haiku"
"""The smallest one: a digest of some thousand characters asks for no more."""

FLAGS = (
    "--print",
    "--safe-mode",
    *("--tools", ""),
    "--no-session-persistence",
    "--strict-mcp-config",
    "--disable-slash-commands",
    *("--model", MODEL),
    *("--output-format", "json"),
)

ENVIRONMENT = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
"""One request is asked for, and nothing beside it."""


def command_line(question: Question) -> CommandLine:
    """Return how the question is asked."""
    arguments = (*FLAGS, "--system-prompt", question.instructions)
    return CommandLine(BINARY, arguments, question.text.encode(), ENVIRONMENT)


def answer_in(output: bytes) -> Answer | None:
    """Return the answer in the result object that was printed; an error's object has no text of a model."""
    try:
        result = json.loads(output)
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict) or result.get("type") != "result":
        return None
    text, cost, models = result.get("result"), result.get("total_cost_usd"), result.get("modelUsage")
    is_answer = result.get("is_error") is False and isinstance(text, str)
    return Answer(
        text=str(text) if is_answer else "",
        model=next(iter(models), "") if isinstance(models, dict) else "",
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )


def leftovers(_line: CommandLine, _output: bytes, _homes: AgentHomes) -> Leftovers:
    """Return nothing: a session without persistence leaves no file."""
    return NO_LEFTOVERS
