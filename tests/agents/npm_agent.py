"""
Programs from npm, each pinned and installed once into a cache folder of its own that all runs share.

A folder `<short>-<version>` is renamed whole into its place: a broken download never looks like a program.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

NODE_VERSION = "24.21.0"  # Pi needs 22 or newer

INSTALL_SECONDS_MAX = 600  # some 400 MB over a slow line
COMPLAINT_LINES = 3  # of npm's error output: the cause stands at its head


class AgentUnavailableError(Exception):
    """The agent cannot be installed here; a test that needs it says so and is skipped."""


@dataclass(frozen=True)
class NpmProgram:
    """A package at one version, the file below its folder that proves it whole, and what goes with it."""

    short: str
    package: str
    version: str
    proof: str
    beside: Sequence[str] = ()  # further packages in the same folder, each with its version

    @property
    def folder(self) -> Path:
        """Where it is kept; it need not be there yet."""
        return cache_folder() / f"{self.short}-{self.version}"

    @property
    def specifications(self) -> list[str]:
        """What npm is asked for."""
        return [f"{self.package}@{self.version}", *self.beside]


def cache_folder() -> Path:
    """Return where agents are kept between runs."""
    return Path(os.environ.get("TOKENECONOMIZER_CACHE") or REPOSITORY / ".cache") / "agents"


def bin_path(name: str) -> str:
    """Return where npm links the command of a package, below its folder."""
    return f"node_modules/.bin/{name}"


def install(program: NpmProgram) -> Path:
    """Return the program's proof file; install first if the cache does not have it."""
    folder = program.folder
    proof = folder / program.proof
    if proof.exists():
        return proof
    npm = shutil.which("npm")
    if npm is None:
        message = f"npm was not found: install Node.js with npm to run the tests with {program.package}"
        raise AgentUnavailableError(message)
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
    partial.mkdir(parents=True)
    try:
        _npm_install(npm, partial, program)
        # Another run may have been first; its folder is as good.
        with contextlib.suppress(OSError):
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return proof


def install_node(version: str = NODE_VERSION) -> Path:
    """Return a Node of a known version; the machine's own may be older than an agent wants."""
    return install(NpmProgram("node", "node", version, "node_modules/node/bin/node"))


def _npm_install(npm: str, folder: Path, program: NpmProgram) -> None:
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--save-exact", *program.specifications]
    wanted = f"{' '.join(program.specifications)} (is the npm registry reachable?)"
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"npm did not install {wanted} within {INSTALL_SECONDS_MAX} s"
        raise AgentUnavailableError(message) from error
    if done.returncode or not (folder / program.proof).exists():
        complaints = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        message = f"npm could not install {wanted}: {' | '.join(complaints[:COMPLAINT_LINES])}"
        raise AgentUnavailableError(message)
