"""Which calls only wait: they are repeated because something takes time, not because the agent is lost."""

from __future__ import annotations

import re

READ_KIND = "read"
WAIT_KIND = "wait"
"""As an agent's package classes a call: for tools that wait by some arguments and act by others."""

WAITING_TOOLS = frozenset(
    {"BashOutput", "TaskOutput", "AgentOutput", "Monitor", "ScheduleWakeup", "read_bash"}
)
"""Tools that ask for the state of something that runs elsewhere, and do not say so in their names."""

GROWING_FILES = (".log", ".out", ".output")
"""Files that something running elsewhere writes: reading one again asks how far it is."""

_WAITING_TOOL = re.compile(r"(?:^|[_-])(?:wait|poll|sleep|status)(?:[_-]|$)", re.IGNORECASE)

_WAITING_COMMAND = re.compile(
    r"(?:^|[;&|(]\s*)(?:sleep|watch|wait|tail\s+-[fF]|kubectl\s+(?:wait|rollout\s+status|get)"
    r"|gh\s+(?:pr\s+(?:checks|view|status)|run\s+(?:watch|view|list)|api)|glab\s+ci\s+(?:status|view)"
    r"|docker\s+(?:ps|wait|logs|compose\s+(?:ps|logs))|journalctl|systemctl\s+(?:status|is-active)"
    r"|until\b|while\b|curl\s[^;&|]*(?:health|ready|status)|pgrep|ps|jobs|squeue|qstat|ping|nc\s+-z"
    r"|(?:cat|tail|head|less)\s[^;&|]*\.(?:log|out|output))\b"
)
"""Commands whose results are expected to stay the same for a while, then change by themselves."""


def waits(tool: str, kind: str, command: str, target: str) -> bool:
    """Return whether the call waits or polls."""
    if kind == WAIT_KIND or tool in WAITING_TOOLS or _WAITING_TOOL.search(tool):
        return True
    if command:
        return _WAITING_COMMAND.search(command) is not None
    return kind == READ_KIND and target.endswith(GROWING_FILES)
