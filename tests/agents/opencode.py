"""The real opencode, pinned, in a clean home: `opencode run` against a scripted model."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from npm_agent import NpmProgram, bin_path, install
from sandbox import FAKE_KEY, AgentSandbox, Finished

OPENCODE_VERSION = "1.18.33"
PLUGIN_PACKAGE = "@opencode-ai/plugin"
MODEL, SMALL_MODEL = "scripted-model", "scripted-small"
COST_PER_MILLION = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
LIMIT = {"context": 128_000, "output": 4096}


def install_opencode(version: str = OPENCODE_VERSION) -> Path:
    """Return the agent's executable; install that version first if the cache does not have it."""
    return install(NpmProgram("opencode", "opencode-ai", version, bin_path("opencode")))


def install_plugin_package(version: str = OPENCODE_VERSION) -> Path:
    """Return the folder that has the plugin package in it: its types, and what each start looks for."""
    proof = f"node_modules/{PLUGIN_PACKAGE}/package.json"
    program = NpmProgram("opencode-plugin", PLUGIN_PACKAGE, version, proof)
    install(program)
    return program.folder


class OpencodeSandbox(AgentSandbox):
    """A throw-away home with a project, and opencode to run there."""

    def __init__(
        self,
        folder: Path,
        *,
        binary: Path,
        openai_url: str,
        extra_environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, extra_environment)
        self.binary = binary
        self.configuration_folder = self.home / ".config" / "opencode"
        # Else each start with a plugin asks npm for it, for a minute and longer where npm is not reached.
        shutil.copytree(install_plugin_package(), self.configuration_folder, symlinks=True)
        text = json.dumps(_configuration(openai_url))
        (self.configuration_folder / "opencode.json").write_text(text, encoding="utf-8")

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def run(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt headless; `-c` resumes the last session. A title saves the request for one."""
        return self.run_command([self.binary, "run", "--title", "scripted", *flags, prompt])


def _configuration(openai_url: str) -> dict[str, object]:
    model = {"tool_call": True, "limit": LIMIT, "cost": COST_PER_MILLION}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": openai_url, "apiKey": FAKE_KEY},
        "models": {name: {"name": name, **model} for name in (MODEL, SMALL_MODEL)},
    }
    return {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": f"scripted/{MODEL}",
        "small_model": f"scripted/{SMALL_MODEL}",
        "enabled_providers": ["scripted"],
        "provider": {"scripted": provider},
    }
