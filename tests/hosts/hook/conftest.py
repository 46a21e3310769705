import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

CLIENT = Path(__file__).resolve().parents[3] / "hosts" / "hook"
COLD_DEADLINE = "COLD_DEADLINE_S = 0.25"

# Stands in for the daemon: tells what it was started with to a test that made a pipe for it, and ends.
RECORDING_DAEMON = """
import json, os, sys

def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True

null = os.stat(os.devnull)
report = {
    "standard streams are null": all(os.path.samestat(os.fstat(n), null) for n in (0, 1, 2)),
    "other descriptors": [n for n in range(3, 256) if is_open(n)],
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "isolated": sys.flags.isolated,
    "interpreter": sys.executable,
    "leads its session": os.getsid(0) == os.getpid(),
}
if os.path.exists("report"):
    with open("report", "w") as pipe:
        json.dump(report, pipe)
"""


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an interpreter whose only package is a recording daemon, so that no test starts a real one."""
    root = tmp_path_factory.mktemp("environment")
    base = Path(os.path.realpath(sys.executable))
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(base)
    (root / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    scheduler = root / "lib" / version / "site-packages" / "tokeneconomizer" / "scheduler"
    scheduler.mkdir(parents=True)
    (scheduler.parent / "__init__.py").touch()
    (scheduler / "__init__.py").touch()
    (scheduler / "daemon.py").write_text(RECORDING_DAEMON)
    return root / "bin" / "python"


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the client, patient without a daemon: a disk that stalls under other tests must not decide."""
    folder = tmp_path_factory.mktemp("client")
    for path in CLIENT.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert (COLD_DEADLINE in text) is (path.name == "te_hook_core.py")
        patient = text.replace(COLD_DEADLINE, "COLD_DEADLINE_S = 25")
        (folder / path.name).write_text(patient, encoding="utf-8")
    return folder / "launcher.py"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def command(interpreter: Path, launcher: Path) -> Callable[..., list[str]]:
    def build(event: str = "Stop") -> list[str]:
        flags = ["--host", "claude_code", "--event", event, "--via", "plugin"]
        return [str(interpreter), "-I", "-S", str(launcher), *flags]

    return build


@pytest.fixture
def run(interpreter: Path, launcher: Path, home: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    def run_hook(
        event: str = "Stop",
        payload: bytes = b'{"session_id": "s"}',
        *,
        flags: list[str | bytes] | None = None,
        variables: Mapping[str, str] | None = None,
        script: str = 'exec "$@"',
    ) -> subprocess.CompletedProcess[bytes]:
        if flags is None:
            flags = ["--host", "claude_code", "--event", event, "--via", "plugin"]
        if variables is None:
            variables = {"TOKENECONOMIZER_HOME": str(home)}
        return subprocess.run(
            ["/bin/sh", "-c", script, "sh", str(interpreter), "-I", "-S", str(launcher), *flags],
            input=payload,
            env={"PATH": os.defpath, **variables},
            capture_output=True,
            check=False,
            timeout=30,
        )

    return run_hook
