"""The real opencode, pinned, in a clean home: `opencode run` against a scripted model."""

import json
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from lab import AgentUnderTest
from model_server import ModelServer
from npm_agent import NpmProgram, bin_path, install
from prompt_blocks import JsonObject
from replies import call
from sample_project import PRICING_PATH
from sandbox import FAKE_KEY, AgentSandbox, Finished

OPENCODE_VERSION = "1.18.33"
PLUGIN_PACKAGE = "@opencode-ai/plugin"
MODEL, SMALL_MODEL = "scripted-model", "scripted-small"
COST_PER_MILLION = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
LIMIT = {"context": 128_000, "output": 4096}


def install_opencode(version: str = OPENCODE_VERSION) -> Path:
    """Return the agent's executable; install what the cache does not have, the plugin package too."""
    install_plugin_package(version)
    return install(NpmProgram("opencode", "opencode-ai", version, bin_path("opencode")))


def install_plugin_package(version: str = OPENCODE_VERSION) -> Path:
    """Return the folder that has the plugin package in it: its types, and what each start looks for."""
    proof = f"node_modules/{PLUGIN_PACKAGE}/package.json"
    program = NpmProgram("opencode-plugin", PLUGIN_PACKAGE, version, proof)
    install(program)
    return program.folder


class OpencodeSandbox(AgentSandbox):
    """A throw-away home with a project, and opencode to run there."""

    def __init__(self, folder: Path, binary: Path, server: ModelServer) -> None:
        super().__init__(folder, [binary.parent])
        self.binary = binary
        self.configuration_folder = self.home / ".config" / "opencode"
        # Else each start with a plugin asks npm for it, for a minute and longer where npm is not reached.
        shutil.copytree(install_plugin_package(), self.configuration_folder, symlinks=True)
        self.configuration_path = self.configuration_folder / "opencode.json"
        text = json.dumps(_configuration(server.openai_url))
        self.configuration_path.write_text(text, encoding="utf-8")

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def run(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt headless. A title saves the request for one."""
        return self.run_command([self.binary, "run", "--title", "scripted", *flags, prompt])

    def resume(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt in a new process that goes on with the last session."""
        return self.run(prompt, "-c", *flags)

    def kept_sessions(self) -> list[str]:
        """Return the ids of the sessions in its database."""
        database = self.home / ".local" / "share" / "opencode" / "opencode.db"
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return [str(row[0]) for row in connection.execute("SELECT id FROM session")]
        finally:
            connection.close()


class OpencodeTools:
    """The words of its tools."""

    def shell(self, command: str) -> JsonObject:
        """Return a call of the shell."""
        return call("bash", command=command, description="Run it")

    def read(self, path: str = PRICING_PATH) -> JsonObject:
        """Return a call that reads a file."""
        return call("read", filePath=path)

    def edit(self, old: str, new: str) -> JsonObject:
        """Return a call that edits the file with the bug."""
        return call("edit", filePath=PRICING_PATH, oldString=old, newString=new)

    def delegate(self, prompt: str) -> JsonObject:
        """Return a call of a sub-agent."""
        return call("task", description="Find it", prompt=prompt, subagent_type="general")


OPENCODE = AgentUnderTest(
    host="opencode",
    title="opencode",
    version=OPENCODE_VERSION,
    install=install_opencode,
    sandbox=OpencodeSandbox,
    tools=lambda _project: OpencodeTools(),
)


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
