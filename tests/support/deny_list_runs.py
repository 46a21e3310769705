"""A throw-away checkout whose agent trusts it, and the pen that writes into its file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Checkout:
    """One agent's checkout below a folder, beside the user's home and ours."""

    folder: Path
    host: str
    agent_version: str = ""

    def __post_init__(self) -> None:
        self.path = self.folder / "checkout"
        self.user_home = self.folder / "user"
        self.home = Home(self.folder / "state")
        self.file = self.path / TARGETS[self.host].file
        self.path.mkdir()
        self.trust(str(self.path))

    def trust(self, path: str) -> None:
        """Have the user trust a folder in Codex, Copilot and Pi."""
        for name, text in {
            ".codex/config.toml": f'[projects.{json.dumps(path)}]\ntrust_level = "trusted"\n',
            ".copilot/config.json": f'// first\n{{"trustedFolders": [{json.dumps(path)}]}}',
            ".pi/agent/trust.json": json.dumps({path: True}),
        }.items():
            (self.user_home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.user_home / name).write_text(text)

    def deny_list(self) -> DenyList:
        """The pen, as a new process would have it."""
        return DenyList(self.home, AgentHomes(self.user_home), self.host, self.path, self.agent_version)

    def write(self, data: bytes) -> None:
        """Write the agent's file as its user would."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(data)

    def read(self) -> bytes | None:
        """The agent's file, if there is one."""
        return self.file.read_bytes() if self.file.exists() else None
