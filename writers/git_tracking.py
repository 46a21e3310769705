"""Whether git tracks a file: such a file is shared with others, so it is not changed unasked."""

import os
import subprocess
from pathlib import Path
from typing import Final

GIT_TIMEOUT_SECONDS: Final = 10
"""Git answers in milliseconds; a checkout on a network may take a second or two."""

_UNTRACKED: Final = 1
_NO_REPOSITORY: Final = b"not a git repository"


def git_tracks(file: Path) -> bool:
    """Tell whether git tracks the file, or cannot say that it does not."""
    folder = next((parent for parent in file.parents if parent.is_dir()), None)
    if folder is None or not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return False
    command = [
        "git",
        # A repository's own configuration must not start a program.
        *("-c", "core.fsmonitor=false", "--literal-pathspecs", "-C", str(folder)),
        *("ls-files", "--error-unmatch", "--", str(file.relative_to(folder))),
    ]
    try:
        answer = subprocess.run(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return answer.returncode != _UNTRACKED and _NO_REPOSITORY not in answer.stderr


def _environment() -> dict[str, str]:
    """Leave out all variables of git's, which could point it to another repository."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
