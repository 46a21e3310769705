"""The real GitHub Copilot CLI, pinned, in a clean home: `copilot -p` against a scripted model."""

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from npm_agent import NpmProgram, cache_folder, install
from sandbox import FAKE_KEY, AgentSandbox, Finished
from terminal import Terminal

COPILOT_VERSION = "1.0.102"
MODEL = "gpt-4.1"
ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}  # as the packages name them; else the same name
HEADLESS_FLAGS = ("--allow-all-tools", "--no-color")


def install_copilot(version: str = COPILOT_VERSION) -> Path:
    """Return the agent's executable; install that version first if the cache does not have it."""
    machine = ARCHITECTURES.get(platform.machine(), platform.machine())
    # The program itself: the package's command is a loader for a newer Node than may be here.
    program = f"node_modules/@github/copilot-{sys.platform}-{machine}/copilot"
    return install(NpmProgram("copilot", "@github/copilot", version, program))


class CopilotSandbox(AgentSandbox):
    """A throw-away home with a project, and Copilot to run there."""

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
        self.openai_url = openai_url
        # It unpacks itself into each new home, 220 MB: all homes share one copy.
        unpacked = cache_folder() / f"copilot-unpacked-{COPILOT_VERSION}"
        unpacked.mkdir(exist_ok=True)
        shared = self.home / ".cache" / "copilot" / "pkg"
        shared.parent.mkdir(parents=True)
        shared.symlink_to(unpacked)

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
        """Run one prompt headless; `--continue` resumes the last session."""
        return self.run_command([self.binary, "-p", prompt, *HEADLESS_FLAGS, *flags])
