"""
The real Claude Code, pinned, in a clean environment: installed once into a cache, run in a throw-away home.

Nothing of the user's is read: own HOME, own temporary folder, a key that is none, a base URL on this machine.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab import AgentUnderTest
from model_server import ModelServer
from npm_agent import NpmProgram, bin_path, install
from prompt_blocks import JsonObject
from replies import call
from sample_project import PRICING_PATH
from sandbox import Agent, AgentRunError, AgentSandbox
from terminal import Terminal

CLAUDE_CODE_VERSION = "2.1.332"

FAKE_KEY = "sk-ant-api03-no-real-key-0000000000"
KEY_TAIL_CHARACTERS = 20  # the agent remembers approved keys by their last characters
OUTPUT_FLAGS = ("--output-format", "stream-json", "--verbose")
ALL_TOOLS_FLAGS = ("--allowedTools", "Bash,Read,Edit,Write,Agent")


def install_claude_code(version: str = CLAUDE_CODE_VERSION) -> Path:
    """Return the agent's executable; install that version first if the cache does not have it."""
    return install(NpmProgram("claude-code", "@anthropic-ai/claude-code", version, bin_path("claude")))


@dataclass(frozen=True)
class RunResult:
    """What one headless run left: exit code, output lines, error output, transcript, duration."""

    exit_code: int
    lines: tuple[JsonObject, ...]
    stderr: str
    transcript_path: Path | None
    seconds: float

    def of_type(self, kind: str, subtype: str | None = None) -> list[JsonObject]:
        """Return the output lines of a type, and subtype."""
        return [
            line
            for line in self.lines
            if line.get("type") == kind and (subtype is None or line.get("subtype") == subtype)
        ]

    @property
    def session_id(self) -> str:
        """The session's id as the agent reports it; empty if it never started."""
        return next((str(line["session_id"]) for line in self.lines if "session_id" in line), "")

    @property
    def init(self) -> JsonObject:
        """The line in which the agent lists its tools, skills and plugins."""
        return next(iter(self.of_type("system", "init")), {})

    @property
    def final_text(self) -> str:
        """The last turn's answer."""
        results = self.of_type("result")
        return str(results[-1].get("result", "")) if results else ""

    @property
    def notices(self) -> list[str]:
        """The texts that hooks showed to the user."""
        return [str(line.get("content", "")) for line in self.of_type("system", "informational")]


class ClaudeCodeSandbox(AgentSandbox):
    """A throw-away home with a git repository in it, and the agent to run there."""

    def __init__(self, folder: Path, binary: Path, server: ModelServer) -> None:
        super().__init__(folder, [binary.parent])
        self.binary = binary
        self.base_url = server.base_url

    @property
    def user_settings_path(self) -> Path:
        """The user's settings file; the harness does not make it."""
        return self.home / ".claude" / "settings.json"

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {
            "ANTHROPIC_BASE_URL": self.base_url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def run(self, prompt: str, *flags: str) -> RunResult:
        """Run one prompt headless, as `claude -p` does. Raises AgentRunError when it takes too long."""
        return self._headless(["-p", prompt, *flags])

    def resume(self, prompt: str, *flags: str) -> RunResult:
        """Run one prompt in a new process that continues the last session."""
        return self.run(prompt, "--continue", *flags)

    def run_turns(self, prompts: Sequence[str]) -> RunResult:
        """Run several prompts one after another in one process, as in an open session; /compact works too."""
        return self._headless(["-p", "--input-format", "stream-json"], prompts)

    def open_terminal(self, *, trusted: bool = True) -> Terminal:
        """Start the agent in a terminal, as a user who knows it does; who trusts the folder, or is asked."""
        self.trust_project(trusted=trusted)
        # The default there is an automatic mode whose check needs the real server.
        arguments = [str(self.binary), "--permission-mode", "acceptEdits", *ALL_TOOLS_FLAGS]
        return Terminal(arguments, self.project, self.environment())

    def transcript(self, session_id: str) -> Path | None:
        """Return the session's transcript, if the agent wrote one."""
        found = (
            sorted((self.home / ".claude" / "projects").glob(f"*/{session_id}.jsonl")) if session_id else []
        )
        return found[0] if found else None

    def _headless(self, arguments: Sequence[str], prompts: Sequence[str] = ()) -> RunResult:
        command = [str(self.binary), *arguments, *OUTPUT_FLAGS, *ALL_TOOLS_FLAGS]
        done = self.converse(command, partial(_converse, prompts=prompts))
        found = next((str(line["session_id"]) for line in done.output if "session_id" in line), "")
        return RunResult(
            exit_code=done.exit_code,
            lines=tuple(done.output),
            stderr=done.stderr,
            transcript_path=self.transcript(found),
            seconds=done.seconds,
        )

    def trust_project(self, *, trusted: bool = True) -> None:
        """Write what the agent notes of a user who knows it, and has accepted its trust dialog here."""
        path = self.home / ".claude.json"
        state: JsonObject = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        noted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state |= {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [FAKE_KEY[-KEY_TAIL_CHARACTERS:]], "rejected": []},
            "projects": {str(self.project): noted} if trusted else {},
        }
        path.write_text(json.dumps(state), encoding="utf-8")


class ClaudeCodeTools:
    """A step that edits follows a step that reads: the agent refuses to edit an unread file."""

    def shell(self, command: str) -> JsonObject:
        """Return a call of the shell."""
        return call("Bash", command=command, description="Run it")

    def read(self, path: str = PRICING_PATH) -> JsonObject:
        """Return a call that reads a file."""
        return call("Read", file_path=path)

    def edit(self, old: str, new: str) -> JsonObject:
        """Return a call that edits the file with the bug."""
        return call("Edit", file_path=PRICING_PATH, old_string=old, new_string=new)

    def delegate(self, prompt: str) -> JsonObject:
        """Return a call of a sub-agent."""
        return call(
            "Agent",
            description="Find the failing test",
            prompt=prompt,
            subagent_type="general-purpose",
            run_in_background=False,
        )


CLAUDE_CODE = AgentUnderTest(
    host="claude_code",
    title="Claude Code",
    version=CLAUDE_CODE_VERSION,
    install=install_claude_code,
    sandbox=ClaudeCodeSandbox,
    tools=lambda _project: ClaudeCodeTools(),
)


def _converse(agent: Agent, prompts: Iterable[str]) -> list[JsonObject]:
    """Give the agent one prompt after another, each after the result of the last, and read all lines."""
    if agent.stdin is None or agent.stdout is None:
        message = "the agent was started without pipes"
        raise AgentRunError(message)
    waiting = iter(prompts)

    def feed_next() -> None:
        prompt = next(waiting, None)
        if agent.stdin is None or agent.stdin.closed:
            return
        if prompt is None:
            agent.stdin.close()
            return
        line = {"type": "user", "message": {"role": "user", "content": prompt}}
        agent.stdin.write(json.dumps(line).encode() + b"\n")
        agent.stdin.flush()

    lines: list[JsonObject] = []
    feed_next()
    for raw in agent.stdout:
        line: JsonObject = json.loads(raw) if raw.startswith(b"{") else {"type": "text", "text": raw.decode()}
        lines.append(line)
        if line["type"] == "result":
            feed_next()
    return lines
