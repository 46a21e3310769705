"""The real Codex CLI, pinned, in a clean home: `codex exec` against a scripted model."""

import json
from collections.abc import Mapping
from pathlib import Path

from npm_agent import NpmProgram, bin_path, install
from sandbox import FAKE_KEY, AgentSandbox, Finished

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
env_key = "SCRIPTED_KEY"
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

    def __init__(
        self,
        folder: Path,
        *,
        binary: Path,
        openai_url: str,
        model: str = DIRECT_MODEL,
        extra_environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, extra_environment)
        self.binary = binary
        self.configuration_path = self.home / ".codex" / "config.toml"
        self.configuration_path.parent.mkdir()
        # Strings of JSON without control characters are strings of TOML.
        values = {"model": model, "url": openai_url, "project": str(self.project)}
        text = CONFIGURATION.format(**{name: json.dumps(value) for name, value in values.items()})
        self.configuration_path.write_text(text, encoding="utf-8")

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {"SCRIPTED_KEY": FAKE_KEY}

    def run(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt headless; the output is lines of JSON."""
        return self.run_command([self.binary, "exec", "--json", *flags, prompt])

    def resume(self, prompt: str, *flags: str) -> Finished[str]:
        """Run one prompt in a new process that continues the last session."""
        return self.run_command([self.binary, "exec", "--json", *flags, "resume", "--last", prompt])
