"""Makes the one file that an agent loads: the bridge, the agent's own part, and what `te setup` fills in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.hook.te_hook_core import ENVIRONMENT_NAMES, PROGRAM_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = "tokeneconomizer.hosts"

FIRST_WORDS = "// tokeneconomizer"
"""How each file that was rendered begins, in every version: by them an older copy is known as ours."""

PLACEHOLDER = "declare const INSTALLED: Installed;"
"""The line of an agent's part in whose place the values come."""

_IMPORT_OF_OURS = re.compile(r'^import [^;]*? from "\.[^"]*";\n', re.MULTILINE)
_IMPORTED_BESIDE = re.compile(r'^import [^;]*? from "\./([^"]*)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default\b)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Installation:
    """
    What `te setup` knows and the agent's process does not.

    Attributes:
        host: the agent's name.
        via: the registration by which it loads the file.
        home: the folder of all state, where the agent's environment names no other.
        daemon: the command that starts a daemon.

    """

    host: str
    via: str
    home: str
    daemon: Sequence[str]


def render(part: str, installation: Installation) -> bytes:
    """
    Return the file for an agent.

    Args:
        part: of the agent, as a path in the folder `hosts`.
        installation: what is filled in.

    """
    version = PROGRAM_VERSION.decode()
    values = {
        "host": installation.host,
        "via": installation.via,
        "version": version,
        "home": installation.home,
        "daemon": list(installation.daemon),
        "environmentNames": [name.decode() for name in ENVIRONMENT_NAMES],
    }
    filled_in = f"const INSTALLED: Installed = {json.dumps(values)};"
    first_line = f"{FIRST_WORDS} {version}: `te setup` writes this file, `te setup --uninstall` removes it."
    sources = [_source(name) for name in ("bridge/bridge.ts", *_beside(part), part)]
    joined = "\n".join(_EXPORT.sub("", _IMPORT_OF_OURS.sub("", source)) for source in sources)
    return f"{first_line}\n{joined.replace(PLACEHOLDER, filled_in)}".encode()


def is_ours(content: bytes) -> bool:
    """Return whether a file was rendered by any version of this program."""
    return content.startswith(FIRST_WORDS.encode())


def _beside(part: str) -> list[str]:
    """Return the files of its own that an agent's part imports, each once."""
    folder = part.partition("/")[0]
    return [f"{folder}/{name}" for name in dict.fromkeys(_IMPORTED_BESIDE.findall(_source(part)))]


def _source(name: str) -> str:
    return resources.files(PACKAGE).joinpath(name).read_text(encoding="utf-8")
