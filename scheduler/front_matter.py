"""The name that a SKILL.md declares in its front matter, whatever else stands there."""

from __future__ import annotations

import re

FENCE = "---"

_NAME_LINE = re.compile(r"^name[ \t]*:[ \t]*(.*)$", re.MULTILINE)


def declared_name(beginning: bytes) -> str:
    """Return the declared name on one line; empty where there is none."""
    block = _front_matter(beginning)
    if not block:
        return ""
    # Slow to import, and needed only where a turn used a skill.
    from ruamel.yaml import YAML  # noqa: PLC0415

    try:
        fields = YAML(typ="safe", pure=True).load(block)
    except Exception:  # noqa: BLE001 - others write these files, and a description with a colon is common
        return _name_by_its_line(block)
    name = fields.get("name") if isinstance(fields, dict) else None
    return " ".join(name.split()) if isinstance(name, str) else ""


def _name_by_its_line(block: str) -> str:
    """Return the name of front matter that is no YAML, as agents read it all the same."""
    found = _NAME_LINE.search(block)
    return " ".join(found[1].strip().strip("'\"").split()) if found else ""


def _front_matter(beginning: bytes) -> str:
    """Return what stands between the first line and the next fence; nothing without either."""
    lines = beginning.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    if not lines or lines[0].rstrip() != FENCE:
        return ""
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return "\n".join(lines[1:number])
    return ""
