"""Which calls only wait: they are repeated because something takes time, not because the agent is lost."""

from __future__ import annotations

import re

WAIT_KIND = "wait"
"""As an agent's package classes a call: for tools that wait by some arguments and act by others."""

WAITING_TOOLS = frozenset(
    {
        *("BashOutput", "TaskOutput", "AgentOutput", "Monitor", "ScheduleWakeup"),
        *("read_bash", "wait", "wait_agent", "sleep"),
    }
)
"""Tools that ask for the state of something that runs elsewhere."""

_WAITING_COMMAND = re.compile(
    r"(?:^|[;&|(]\s*)(?:sleep|watch|wait|tail\s+-[fF]|kubectl\s+(?:wait|rollout\s+status|get)"
    r"|gh\s+(?:pr\s+(?:checks|view|status)|run\s+(?:watch|view|list)|api)|glab\s+ci\s+(?:status|view)"
    r"|docker\s+(?:ps|wait|logs|compose\s+(?:ps|logs))|journalctl|systemctl\s+(?:status|is-active)"
    r"|until\b|while\b|curl\s[^;&|]*(?:health|ready|status)|pgrep|ps)\b"
)
"""Commands whose results are expected to stay the same for a while, then change by themselves."""


def waits(tool: str, kind: str, command: str) -> bool:
    """Return whether the call waits or polls."""
    return kind == WAIT_KIND or tool in WAITING_TOOLS or bool(command and _WAITING_COMMAND.search(command))
