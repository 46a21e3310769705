"""The real Codex CLI, pinned, in a clean home: `codex exec` against a scripted model."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lab import AgentUnderTest
from model_server import ModelServer
from npm_agent import NpmProgram, bin_path, install
from prompt_blocks import JsonObject, as_list, as_object
from replies import call, custom_call, namespaced_call
from sample_project import PRICING_PATH
from sandbox import FAKE_KEY, Agent, AgentRunError, AgentSandbox, Finished
from terminal import Terminal

CODEX_VERSION = "0.171.0"
CODE_MODE_MODEL = "gpt-6.2-sol"  # its one tool, exec, takes a script that calls the others
DIRECT_MODEL = "gpt-5.5"  # it calls exec_command and apply_patch themselves

CONFIGURATION = """\
model = {model}
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = {url}
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[projects.{project}]
trust_level = "trusted"
"""


def install_codex(version: str = CODEX_VERSION) -> Path:
    """Return the agent's executable; install that version first if the cache does not have it."""
    return install(NpmProgram("codex", "@openai/codex", version, bin_path("codex")))


class CodexSandbox(AgentSandbox):
    """A throw-away home with a trusted project, and Codex to run there."""

    def __init__(self, folder: Path, binary: Path, server: ModelServer, *, model: str = DIRECT_MODEL) -> None:
        super().__init__(folder, [binary.parent])
        self.binary = binary
        self.configuration_path = self.home / ".codex" / "config.toml"
        self.configuration_path.parent.mkdir()
        # Strings of JSON without control characters are strings of TOML.
        values = {"model": model, "url": server.openai_url, "project": str(self.project)}
        text = CONFIGURATION.format(**{name: json.dumps(value) for name, value in values.items()})
        self.configuration_path.write_text(text, encoding="utf-8")

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {"OPENAI_API_KEY": FAKE_KEY}

    def run(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt headless; the output is lines of JSON."""
        return self.run_command([self.binary, "exec", "--json", *flags, prompt])

    def resume(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt in a new process that continues the last session."""
        return self.run_command([self.binary, "exec", "--json", *flags, "resume", "--last", prompt])

    def fork(self, session_id: str, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt in a new session that begins with another one's history."""
        return self.run_command([self.binary, "exec", "--json", *flags, "fork", session_id, prompt])

    @contextmanager
    def open_terminal(self) -> Iterator[Terminal]:
        """Run the agent in a terminal; it starts a server and an updater, which do not end with it."""
        updater = self.configuration_path.parent / "app-server-daemon" / "daemon-updater.pid"
        try:
            with Terminal([str(self.binary)], self.project, self.environment()) as terminal:
                yield terminal
        finally:
            self.run_command([self.binary, "app-server", "daemon", "stop"])
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                os.kill(json.loads(updater.read_bytes())["pid"], signal.SIGTERM)

    def approve_hooks(self) -> None:
        """Approve all hooks, as `/hooks` does, through the interface that Codex has for programs."""
        self.converse([self.binary, "app-server"], self._approve)

    def hook_states(self) -> dict[str, str]:
        """Return how far Codex trusts each hook, by its key."""
        listed = self.converse([self.binary, "app-server"], self._list_hooks).output
        return {str(hook["key"]): str(hook["trustStatus"]) for hook in listed}

    def rollouts(self) -> list[Path]:
        """Return the sessions' logs, the oldest first."""
        return sorted((self.home / ".codex" / "sessions").rglob("rollout-*.jsonl"))

    def _approve(self, agent: Agent) -> None:
        asking = _AppServer(agent)
        hooks = asking.hooks(self.project)
        state = {str(hook["key"]): {"trusted_hash": hook["currentHash"]} for hook in hooks}
        edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": state}
        asking.ask("config/batchWrite", {"edits": [edit]})
        agent.terminate()

    def _list_hooks(self, agent: Agent) -> list[JsonObject]:
        hooks = _AppServer(agent).hooks(self.project)
        agent.terminate()
        return hooks


class CodexTools:
    """Tools of its own, and (code mode) scripts that call them."""

    def shell(self, command: str) -> JsonObject:
        """Return a call of the shell."""
        return call("exec_command", cmd=command)

    def read(self, path: str = PRICING_PATH) -> JsonObject:
        """Return a call that reads a file."""
        return self.shell(f"cat {path}")

    def edit(self, old: str, new: str) -> JsonObject:
        """Return a call that changes whole lines of the file with the bug."""
        lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
        head = ["*** Begin Patch", f"*** Update File: {PRICING_PATH}", "@@"]
        return custom_call("apply_patch", "\n".join([*head, *lines, "*** End Patch", ""]))

    def script(self, command: str) -> JsonObject:
        """Return a call of a script that runs a command and prints how it ended."""
        given = json.dumps({"cmd": command})
        return custom_call("exec", f"const r = await tools.exec_command({given}); text(JSON.stringify(r));")

    def delegate(self, prompt: str) -> JsonObject:
        """Return a call of a sub-agent."""
        helper = {"task_name": "helper", "message": prompt, "fork_turns": "none"}
        return namespaced_call("collaboration", "spawn_agent", **helper)


CODEX = AgentUnderTest(
    host="codex",
    title="Codex",
    version=CODEX_VERSION,
    install=install_codex,
    sandbox=CodexSandbox,
    tools=lambda _project: CodexTools(),
    approve=CodexSandbox.approve_hooks,
)


class _AppServer:
    """Codex's interface for programs: a line of JSON each way."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._asked = 0
        client = {"name": "tests", "title": "tests", "version": "0"}
        self.ask("initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
        self._send({"method": "initialized"})

    def hooks(self, folder: Path) -> list[JsonObject]:
        """Return the hooks that hold in a folder."""
        found = as_object(self.ask("hooks/list", {"cwds": [str(folder)]})["result"])
        return [
            as_object(hook) for entry in as_list(found["data"]) for hook in as_list(as_object(entry)["hooks"])
        ]

    def ask(self, method: str, parameters: JsonObject) -> JsonObject:
        """Return the answer to a request; notices that come before it are passed over."""
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": parameters})
        while True:
            answer = as_object(json.loads(_pipe(self._agent.stdout).readline()))
            if answer.get("id") == self._asked:
                return answer

    def _send(self, message: JsonObject) -> None:
        stdin = _pipe(self._agent.stdin)
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        message = "the agent was started without pipes"
        raise AgentRunError(message)
    return stream
