"""
opencode knows no trust in folders (1.18.33): it asks nothing, and notes nothing, when it works in one.

So no word of its own lets a repository's facts in; `te config set trust yes` does.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokeneconomizer.hosts.log_format import AgentHomes

NO_FILE = Path(os.devnull)


def trust_file(_homes: AgentHomes) -> Path:
    """Return a file that is none; see `hosts.host.Host.trust_file`."""
    return NO_FILE


def trusts(_content: bytes, _folders: Collection[str]) -> bool:
    """Return False; see `hosts.host.Host.trusts`."""
    return False
