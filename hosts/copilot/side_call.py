"""
Asking through Copilot CLI: one request, no tools, no instructions of a repository (measured on 1.0.102).

The question comes on stdin, which other users cannot see. Nothing keeps its hooks from running: the hook
client leaves at once on our mark, other hooks of the user run. The session is saved, so that it is given an
id by which it is removed again; an empty lock file and a row in `session-store.db` stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from tokeneconomizer.hosts.copilot.installation import BINARY
from tokeneconomizer.hosts.copilot.log import SESSIONS_FOLDER, agent_folder
from tokeneconomizer.hosts.side_call import Answer, CommandLine, Leftovers

if TYPE_CHECKING:
    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.hosts.side_call import Question

SESSION_FLAG = "--session-id"

FLAGS = (
    "--silent",
    "--no-color",
    *("--available-tools", "none"),
    "--no-custom-instructions",
    "--disable-builtin-mcps",
    "--no-ask-user",
    "--no-auto-update",
    "--no-remote",
    *("--log-level", "none"),
)


def command_line(question: Question) -> CommandLine:
    """Return how the question is asked; there is no flag for instructions of our own."""
    text = f"{question.instructions}\n\n{question.text}"
    return CommandLine(BINARY, (*FLAGS, SESSION_FLAG, str(uuid4())), text.encode("utf-8", "replace"))


def answer_in(output: bytes) -> Answer | None:
    """Return what was printed, which is the answer alone; an error is printed elsewhere."""
    text = output.decode("utf-8", "replace").strip()
    return Answer(text=text, model="", cost_usd=None) if text else None


def leftovers(line: CommandLine, _output: bytes, homes: AgentHomes) -> Leftovers:
    """Return the folder of the session."""
    session_id = line.arguments[line.arguments.index(SESSION_FLAG) + 1]
    return Leftovers(folders=(agent_folder(homes) / SESSIONS_FOLDER / session_id,))
