"""Where Pi keeps its files, what of ours lies there, and on which versions that was seen to work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BINARY = "pi"

FOLDER = ".pi/agent"
FOLDER_VARIABLE = "PI_CODING_AGENT_DIR"

EXTENSION = "extensions/tokeneconomizer.ts"
"""In the agent's folder; Pi loads every `.ts` file there, in all projects."""

OLDEST_MEASURED = (1, 3, 0)
"""0.87.1 and 1.3.0 keep a section as 1.6.0 does; `agent_settled` and the rest were run on 1.6.0 alone."""

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


def agent_folder(home: Path, environment: Mapping[str, str]) -> Path:
    """Return the agent's folder: below the user's home, or where the user's variable says."""
    named = environment.get(FOLDER_VARIABLE, "")
    # As Pi expands it.
    return Path(named.replace("~", str(home), 1) if named.startswith("~") else named or home / FOLDER)


def is_older_than_measured(version: str) -> bool:
    """Return whether a `pi --version` line names a version older than those measured."""
    found = _VERSION.search(version)
    return found is not None and tuple(int(part) for part in found.groups()) < OLDEST_MEASURED
