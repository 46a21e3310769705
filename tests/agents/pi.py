"""The real Pi, pinned, with a Node of its own, in a clean home: `pi -p` against a scripted model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import AgentUnderTest
from model_server import ModelServer
from npm_agent import NpmProgram, bin_path, install, install_node
from prompt_blocks import JsonObject
from replies import call
from sample_project import PRICING_PATH
from sandbox import FAKE_KEY, AgentSandbox, Finished

PI_VERSION = "1.6.0"
MODEL = "scripted/scripted-model"
COST_PER_MILLION = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}


@dataclass(frozen=True)
class PiProgram:
    """Pi needs a newer Node than many machines have."""

    node: Path
    cli: Path


def install_pi(version: str = PI_VERSION) -> PiProgram:
    """Return Node and the agent's script; install what the cache does not have."""
    node = install_node()
    package = NpmProgram("pi", "@earendil-works/pi-coding-agent", version, bin_path("pi"))
    return PiProgram(node, install(package))


class PiSandbox(AgentSandbox):
    """A throw-away home with a project, and Pi to run there."""

    def __init__(self, folder: Path, program: PiProgram, server: ModelServer) -> None:
        super().__init__(folder, [program.cli.parent, program.node.parent])
        self.program = program
        self.agent_folder = self.home / ".pi" / "agent"
        self.agent_folder.mkdir(parents=True)
        model = {
            "id": "scripted-model",
            "contextWindow": 128_000,
            "maxTokens": 4096,
            "cost": COST_PER_MILLION,
        }
        provider = {
            "baseUrl": server.openai_url,
            "api": "openai-completions",
            "apiKey": FAKE_KEY,
            "models": [model],
        }
        models = json.dumps({"providers": {"scripted": provider}})
        (self.agent_folder / "models.json").write_text(models, encoding="utf-8")
        settings = {"defaultProvider": "scripted", "defaultModel": "scripted-model"}
        (self.agent_folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def command(self, *flags: str) -> list[str]:
        """Return the command line."""
        return [str(self.program.node), str(self.program.cli), "--model", MODEL, *flags]

    def run(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt headless."""
        return self.run_command(self.command(*flags, "-p", prompt))

    def resume(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt in a new process that goes on with the last session."""
        return self.run(prompt, "-c", *flags)

    def trust_project(self) -> None:
        """Write what the agent notes of a user who trusts the folder."""
        trusted = json.dumps({str(self.project): True})
        (self.agent_folder / "trust.json").write_text(trusted, encoding="utf-8")


class PiTools:
    """The words of its tools; it has none for a sub-agent."""

    def shell(self, command: str) -> JsonObject:
        """Return a call of the shell."""
        return call("bash", command=command)

    def read(self, path: str = PRICING_PATH) -> JsonObject:
        """Return a call that reads a file."""
        return call("read", path=path)

    def edit(self, old: str, new: str) -> JsonObject:
        """Return a call that edits the file with the bug."""
        return call("edit", path=PRICING_PATH, edits=[{"oldText": old, "newText": new}])


PI = AgentUnderTest(
    host="pi",
    title="Pi",
    version=PI_VERSION,
    install=install_pi,
    sandbox=PiSandbox,
    tools=lambda _project: PiTools(),
)
