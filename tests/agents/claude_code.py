"""
The real Claude Code, pinned, in a clean environment: installed once into a cache, run in a throw-away home.

Nothing of the user's is read: own HOME, own temporary folder, a key that is none, a base URL on this machine.
"""

import contextlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_blocks import JsonObject
from sample_project import write_sample_project
from terminal import Terminal

CLAUDE_CODE_VERSION = "2.1.332"
PACKAGE = "@anthropic-ai/claude-code"
REPOSITORY = Path(__file__).resolve().parents[2]

INSTALL_SECONDS_MAX = 600  # some 400 MB over a slow line
RUN_SECONDS_MAX = 180  # a scripted turn takes seconds; a hanging agent must fail its test, not stop the run
COMPLAINT_LINES = 3  # of npm's error output: the cause stands at its head

FAKE_KEY = "sk-ant-api03-no-real-key-0000000000"
KEY_TAIL_CHARACTERS = 20  # the agent remembers approved keys by their last characters
OUTPUT_FLAGS = ("--output-format", "stream-json", "--verbose")


class AgentUnavailableError(Exception):
    """The agent cannot be installed here; a test that needs it says so and is skipped."""


class AgentRunError(Exception):
    """The agent did not end when it should have."""


def cache_folder() -> Path:
    """Return where agents are kept between runs."""
    return Path(os.environ.get("TOKENECONOMIZER_CACHE") or REPOSITORY / ".cache") / "agents"


def install_claude_code(version: str = CLAUDE_CODE_VERSION) -> Path:
    """Return the agent's executable; install that version first if the cache does not have it."""
    folder = cache_folder() / f"claude-code-{version}"
    binary = folder / "node_modules" / ".bin" / "claude"
    if binary.exists():
        return binary
    npm = shutil.which("npm")
    if npm is None:
        message = f"npm was not found: install Node.js with npm to run the tests with {PACKAGE}"
        raise AgentUnavailableError(message)
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
    partial.mkdir(parents=True)
    try:
        _npm_install(npm, partial, version)
        # Renamed whole: a broken download must not look like an installed agent. Another run may be first.
        with contextlib.suppress(OSError):
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return binary


def _npm_install(npm: str, folder: Path, version: str) -> None:
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--save-exact", f"{PACKAGE}@{version}"]
    wanted = f"{PACKAGE}@{version} (is the npm registry reachable?)"
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"npm did not install {wanted} within {INSTALL_SECONDS_MAX} s"
        raise AgentUnavailableError(message) from error
    if done.returncode or not (folder / "node_modules" / ".bin" / "claude").exists():
        complaints = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        message = f"npm could not install {wanted}: {' | '.join(complaints[:COMPLAINT_LINES])}"
        raise AgentUnavailableError(message)


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


class Sandbox:
    """A throw-away home with a git repository in it, and the agent to run there."""

    def __init__(
        self,
        folder: Path,
        *,
        binary: Path,
        base_url: str,
        extra_environment: Mapping[str, str] | None = None,
    ) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.temporary_folder = folder / "tmp"
        self.binary = binary
        self.base_url = base_url
        self.extra_environment = dict(extra_environment or {})
        self.temporary_folder.mkdir(parents=True)
        write_sample_project(self.project)
        self._commit_project()

    @property
    def user_settings_path(self) -> Path:
        """The user's settings file; the harness does not make it."""
        return self.home / ".claude" / "settings.json"

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the agent: nothing is inherited but the search path."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary_folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PYTHONDONTWRITEBYTECODE": "1",  # two edits within a second would run the older byte code
            "ANTHROPIC_BASE_URL": self.base_url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            **self.extra_environment,
        }

    def run(self, prompt: str, *flags: str, timeout_seconds: float = RUN_SECONDS_MAX) -> RunResult:
        """Run one prompt headless, as `claude -p` does. Raises AgentRunError when it takes too long."""
        return self._headless(["-p", prompt, *OUTPUT_FLAGS, *flags], (), timeout_seconds)

    def run_turns(
        self, prompts: Sequence[str], *flags: str, timeout_seconds: float = RUN_SECONDS_MAX
    ) -> RunResult:
        """Run several prompts one after another in one process, as in an open session; /compact works too."""
        return self._headless(
            ["-p", "--input-format", "stream-json", *OUTPUT_FLAGS, *flags], prompts, timeout_seconds
        )

    def run_continued(self, prompts: Sequence[str], *flags: str) -> list[RunResult]:
        """Run several prompts, each in a process of its own that continues the session."""
        return [
            self.run(prompt, *flags, *(("--continue",) if index else ()))
            for index, prompt in enumerate(prompts)
        ]

    def open_terminal(self, *flags: str, trusted: bool = True) -> Terminal:
        """Start the agent in a terminal, as a user who knows it does; who trusts the folder, or is asked."""
        self.trust_project(trusted=trusted)
        # The default there is an automatic mode whose check needs the real server.
        arguments = [str(self.binary), "--permission-mode", "acceptEdits", *flags]
        return Terminal(arguments, self.project, self.environment())

    def transcript(self, session_id: str) -> Path | None:
        """Return the session's transcript, if the agent wrote one."""
        found = (
            sorted((self.home / ".claude" / "projects").glob(f"*/{session_id}.jsonl")) if session_id else []
        )
        return found[0] if found else None

    def _headless(self, arguments: Sequence[str], prompts: Sequence[str], timeout: float) -> RunResult:
        started = time.monotonic()
        stderr_path = self.temporary_folder / f"stderr-{time.time_ns()}"
        with (
            stderr_path.open("wb") as stderr,
            subprocess.Popen(
                [str(self.binary), *arguments],
                cwd=self.project,
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            ) as agent,
        ):
            expired = threading.Event()

            def stop_agent() -> None:
                expired.set()
                agent.kill()

            timer = threading.Timer(timeout, stop_agent)
            timer.start()
            try:
                lines = _converse(agent, prompts)
                exit_code = agent.wait()
            finally:
                timer.cancel()
        if expired.is_set():
            message = f"the agent did not end within {timeout} s; its last line: {lines[-1:]}"
            raise AgentRunError(message)
        found = next((str(line["session_id"]) for line in lines if "session_id" in line), "")
        return RunResult(
            exit_code=exit_code,
            lines=tuple(lines),
            stderr=stderr_path.read_text(encoding="utf-8", errors="replace"),
            transcript_path=self.transcript(found),
            seconds=time.monotonic() - started,
        )

    def _commit_project(self) -> None:
        git = shutil.which("git")
        if git is None:
            message = "git was not found: install it to run the tests with a real agent"
            raise AgentUnavailableError(message)
        author = {"NAME": "dev", "EMAIL": "dev@example.invalid"}
        identity = {
            f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in author.items()
        }
        for arguments in (
            ("init", "--quiet"),
            ("add", "."),
            ("commit", "--quiet", "--no-gpg-sign", "--message", "Add the shop"),
        ):
            environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), **identity}
            subprocess.run([git, *arguments], cwd=self.project, env=environment, check=True)

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


def _converse(agent: "subprocess.Popen[bytes]", prompts: Iterable[str]) -> list[JsonObject]:
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
