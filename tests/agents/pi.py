"""The real Pi, pinned, with a Node of its own, in a clean home: `pi -p` against a scripted model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from npm_agent import NpmProgram, bin_path, install, install_node
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
    return PiProgram(node, install(package, node=node))


class PiSandbox(AgentSandbox):
    """A throw-away home with a project, and Pi to run there."""

    def __init__(
        self,
        folder: Path,
        *,
        program: PiProgram,
        openai_url: str,
        extra_environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, extra_environment)
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
            "baseUrl": openai_url,
            "api": "openai-completions",
            "apiKey": FAKE_KEY,
            "models": [model],
        }
        models = json.dumps({"providers": {"scripted": provider}})
        (self.agent_folder / "models.json").write_text(models, encoding="utf-8")

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def run(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt headless; `-c` resumes the last session, `-e` loads an extension."""
        return self.run_command([self.program.node, self.program.cli, "--model", MODEL, *flags, "-p", prompt])
