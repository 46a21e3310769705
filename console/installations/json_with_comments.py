"""A look into JSON that may have comments, and commas before a bracket; such a file is never edited."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tokeneconomizer.console.installations.json_members import SETTINGS_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_STRING = r'"(?:[^"\\]|\\.)*+"'
_COMMENT = r"//[^\n]*+|/\*(?s:.)*?\*/"
_STRING_OR_COMMENT = re.compile(f"({_STRING})|{_COMMENT}")
_STRING_OR_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[\]}}])")


def object_with_comments(path: Path) -> Mapping[str, object] | None:
    """Return the JSON object in a file; an absent file is an empty one, None is one that cannot be read."""
    try:
        with path.open("rb") as file:
            text = file.read(SETTINGS_BYTES_MAX).decode("utf-8-sig")
        for pattern in (_STRING_OR_COMMENT, _STRING_OR_LAST_COMMA):
            text = pattern.sub(lambda found: found.group(1) or " ", text)
        value = json.loads(text) if text.strip() else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
