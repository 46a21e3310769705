"""The real GitHub Copilot CLI, pinned, in a clean home: `copilot -p` against a scripted model."""

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from lab import AgentUnderTest
from model_server import ModelServer
from npm_agent import NpmProgram, cache_folder, install
from prompt_blocks import JsonObject
from replies import call
from sample_project import PRICING_PATH
from sandbox import FAKE_KEY, AgentSandbox, Finished
from terminal import Terminal

COPILOT_VERSION = "1.0.102"
MODEL = "gpt-4.1"
ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}  # as the packages name them; else the same name
UNPACKED = Path(".cache", "copilot", "pkg")  # in a home
HEADLESS_FLAGS = ("--allow-all-tools", "--no-color")


def install_copilot(version: str = COPILOT_VERSION) -> Path:
    """Return the agent's executable; install that version first if the cache does not have it."""
    machine = ARCHITECTURES.get(platform.machine(), platform.machine())
    # The program itself: the package's command is a loader for a newer Node than may be here.
    program = f"node_modules/@github/copilot-{sys.platform}-{machine}/copilot"
    return install(NpmProgram("copilot", "@github/copilot", version, program))


def unpacked_copy(binary: Path, version: str = COPILOT_VERSION) -> Path:
    """Return what the program unpacks into each new home, 220 MB: all homes share one copy, made whole."""
    copy = cache_folder() / f"copilot-unpacked-{version}"
    if not copy.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as home:
            environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home}
            subprocess.run([binary, "--version"], env=environment, capture_output=True, check=True)
            # Another run may have been first; its copy is as good.
            with contextlib.suppress(OSError):
                (Path(home) / UNPACKED).rename(copy)
        copy.mkdir(exist_ok=True)
    return copy


class CopilotSandbox(AgentSandbox):
    """A throw-away home with a project, and Copilot to run there."""

    def __init__(self, folder: Path, binary: Path, server: ModelServer) -> None:
        super().__init__(folder, [binary.parent])
        self.binary = binary
        self.openai_url = server.openai_url
        self.agent_folder = self.home / ".copilot"
        shared = self.home / UNPACKED
        shared.parent.mkdir(parents=True)
        shared.symlink_to(unpacked_copy(binary))

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": self.openai_url,
            "COPILOT_PROVIDER_API_KEY": FAKE_KEY,
            "COPILOT_MODEL": MODEL,
        }

    def open_terminal(self, *flags: str) -> Terminal:
        """Start the agent in a terminal; it asks for trust first where the folder has none."""
        arguments = [str(self.binary), "--allow-all-tools", *flags]
        return Terminal(arguments, self.project, self.environment())

    def run(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt headless."""
        return self.run_command([self.binary, "-p", prompt, *HEADLESS_FLAGS, *flags])

    def resume(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt in a new process that goes on with the last session."""
        return self.run(prompt, "--continue", *flags)

    def trust_project(self) -> None:
        """Write what the agent notes of a user who trusts the folder."""
        self.agent_folder.mkdir(exist_ok=True)
        trusted = json.dumps({"trustedFolders": [str(self.project)]})
        (self.agent_folder / "config.json").write_text(f"// of the user\n{trusted}\n", encoding="utf-8")

    def sessions(self) -> list[str]:
        """Return the ids of the sessions that are kept."""
        found = (self.agent_folder / "session-state").glob("*/events.jsonl")
        return sorted(path.parent.name for path in found)


class CopilotTools:
    """Its tools want absolute paths, so their words are made for a project."""

    def __init__(self, project: Path) -> None:
        self.project = project

    def shell(self, command: str) -> JsonObject:
        """Return a call of the shell."""
        return call("bash", command=command, description="Run it")

    def read(self, path: str = PRICING_PATH) -> JsonObject:
        """Return a call that reads a file."""
        return call("view", path=str(self.project / path))

    def edit(self, old: str, new: str) -> JsonObject:
        """Return a call that edits the file with the bug."""
        return call("edit", path=str(self.project / PRICING_PATH), old_str=old, new_str=new)

    def delegate(self, prompt: str) -> JsonObject:
        """Return a call of a sub-agent."""
        helper = {
            "agent_type": "general-purpose",
            "description": "Find the failing test",
            "prompt": prompt,
            "name": "helper",
            "mode": "sync",
        }
        return {"type": "tool_use", "name": "task", "input": helper}


COPILOT = AgentUnderTest(
    host="copilot",
    title="Copilot CLI",
    version=COPILOT_VERSION,
    install=install_copilot,
    sandbox=CopilotSandbox,
    tools=CopilotTools,
    tells_call_ids=False,
)
