"""Hooks of ours beside those of our plugin: what they tell is stored once all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.console.checks import warning
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.writers.guards import MAX_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding

OUR_HOOK = b"/hosts/hook/launcher.py"
"""Stands in each command line of ours, wherever this program lies."""


def look_for_second_hooks(title: str, files: Iterable[Path]) -> Iterator[Finding]:
    """Return in which of an agent's files our hook client is called once more."""
    for path in dict.fromkeys(files):
        if OUR_HOOK in beginning_of(path, MAX_FILE_BYTES):
            yield warning(
                f"{title} runs the hooks of ours in {path} beside those of our plugin",
                "remove them there; until then each step costs one process more",
            )
