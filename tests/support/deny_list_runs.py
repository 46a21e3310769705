"""A throw-away checkout whose agent trusts it, and the pen that writes into its file."""

from __future__ import annotations

import json
import os
import sys
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


ONE_NAME = {
    "claude_code": "Workflow",
    "codex": "goals",
    "copilot": "lab",
    "pi": "bash",
    "opencode": "webfetch",
}
"""A name that each agent can be told to do without."""


@dataclass(frozen=True)
class Entry:
    """What stands under a path, links as themselves."""

    mode: int
    owner: int
    content: bytes
    attached: tuple[tuple[str, bytes], ...]

    @classmethod
    def at(cls, path: Path) -> Entry:
        """Look at a path."""
        status = path.lstat()
        content = b""
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        elif path.is_file():
            content = path.read_bytes()
        names = os.listxattr(path, follow_symlinks=False) if sys.platform == "linux" else []
        attached = tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in names)
        return cls(status.st_mode, status.st_uid, content, attached)


def everything_below(folder: Path) -> dict[str, Entry]:
    """All that lies in a folder, git's own objects and index left out."""
    return {
        str(path.relative_to(folder)): Entry.at(path)
        for path in sorted(folder.rglob("*"))
        if ".git" not in path.parts or path.name == "exclude"
    }
