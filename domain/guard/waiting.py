"""Which calls only wait: they are repeated because something takes time, not because the agent is lost."""

from __future__ import annotations

import re

WAITING_TOOLS = frozenset({"BashOutput", "TaskOutput", "AgentOutput", "Monitor", "ScheduleWakeup"})
"""Tools that ask for the state of something that runs elsewhere."""

_WAITING_COMMAND = re.compile(
    r"(?:^|[;&|(]\s*)(?:sleep|watch|wait|tail\s+-[fF]|kubectl\s+(?:wait|rollout\s+status)"
    r"|gh\s+(?:pr\s+checks|run\s+(?:watch|view|list)|api)|docker\s+(?:ps|wait|logs)|journalctl"
    r"|until\b|while\b|curl\s[^;&|]*(?:health|ready|status)|pgrep|ps)\b"
)
"""Commands whose results are expected to stay the same for a while, then change by themselves."""


def waits(tool: str, command: str) -> bool:
    """Return whether the call waits or polls."""
    return tool in WAITING_TOOLS or bool(command and _WAITING_COMMAND.search(command))
