"""Whether git tracks a file, which is then shared with others and not changed unasked, or ignores it."""

import os
import subprocess
from pathlib import Path
from typing import Final

GIT_TIMEOUT_SECONDS: Final = 10
"""Git answers in milliseconds; a checkout on a network may take a second or two."""

_NO: Final = 1
_NO_REPOSITORY: Final = b"not a git repository"


def git_tracks(file: Path) -> bool:
    """Tell whether git tracks the file, or cannot say that it does not."""
    folder = _folder_in_git(file)
    if folder is None:
        return False
    answer = _ask(
        folder, "--literal-pathspecs", "ls-files", "--error-unmatch", "--", str(file.relative_to(folder))
    )
    return answer is None or (answer.returncode != _NO and _NO_REPOSITORY not in answer.stderr)


def git_ignores(file: Path) -> bool:
    """Tell whether git passes the file over, or cannot say that it does not."""
    folder = _folder_in_git(file)
    if folder is None:
        return True
    answer = _ask(folder, "check-ignore", "--quiet", "--", str(file.relative_to(folder)))
    return answer is None or answer.returncode != _NO


def _folder_in_git(file: Path) -> Path | None:
    folder = next((parent for parent in file.parents if parent.is_dir()), None)
    if folder is None or not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return None
    return folder


def _ask(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes] | None:
    # A repository's own configuration must not start a program.
    safely = ("-c", "core.fsmonitor=false", "-C", str(folder))
    try:
        return subprocess.run(
            ["git", *safely, *words],  # noqa: S607 - the user's own git, wherever it is
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _environment() -> dict[str, str]:
    """Leave out all variables of git's, which could point it to another repository."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
