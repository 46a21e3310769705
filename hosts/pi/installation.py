"""Where Pi keeps its files, what of ours lies there, and on which versions that was seen to work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.measured import Measured

if TYPE_CHECKING:
    from collections.abc import Mapping

BINARY = "pi"

FOLDER = ".pi/agent"
FOLDER_VARIABLE = "PI_CODING_AGENT_DIR"

EXTENSION = "extensions/tokeneconomizer.ts"
"""In the agent's folder; Pi loads every `.ts` file there, in all projects."""

MEASURED = Measured((1, 3, 0))
"""0.87.1 and 1.3.0 keep a section as 1.6.0 does; `agent_settled` and the rest were run on 1.6.0 alone."""


def agent_folder(home: Path, environment: Mapping[str, str]) -> Path:
    """Return the agent's folder: below the user's home, or where the user's variable says."""
    named = environment.get(FOLDER_VARIABLE, "")
    # As Pi expands it.
    return Path(named.replace("~", str(home), 1) if named.startswith("~") else named or home / FOLDER)
