"""A look into an agent's JSON files, without changing them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commented_json import document_of, strict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SETTINGS_BYTES_MAX = 5_000_000
"""A settings file is some kilobytes."""


def json_object(path: Path) -> Mapping[str, object] | None:
    """Return a JSON object from a file; an absent file is an empty one, None is one that cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(SETTINGS_BYTES_MAX)
        value = json.loads(data) if data.strip() else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def has_member(file: Path, path: tuple[str, ...]) -> bool:
    """Return whether a file has the member that a path of names leads to."""
    value: object = json_object(file)
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def object_with_comments(path: Path) -> Mapping[str, object] | None:
    """Return a JSON object as `json_object` does, from a file that may have comments and last commas."""
    try:
        with path.open("rb") as file:
            data = file.read(SETTINGS_BYTES_MAX)
        is_empty = not strict(data.decode("utf-8-sig")).strip()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None
    return {} if is_empty else document_of(data)
