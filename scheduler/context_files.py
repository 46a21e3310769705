"""Sizes of rules, and skills in their folders, as they lie on this machine: it never raises."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.accounting.skills import Root, SkillFile
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.scheduler.front_matter import declared_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.domain.accounting.skills import SkillPlace

SKILL_FILE = "SKILL.md"

FRONT_MATTER_BYTES_MAX = 16_384
"""A name and a description of at most 1,024 characters, many times over."""

SKILL_DEPTH_MAX = 3
"""A folder of skills may sort them into groups, and those once more."""

PLUGIN_DEPTH_MAX = 5
"""`cache/<marketplace>/<plugin>/<version>/skills` is the deepest that an agent lays down."""

FOLDERS_PER_LEVEL_MAX = 256
"""More plugins or groups than users have; listing so many on all levels takes some 30 ms of a turn's end."""

LIST_BYTES_MAX = 4_000_000
"""The list of installed plugins has some 300 bytes for each."""

MANIFEST_BYTES_MAX = 65_536
"""A plugin's manifest is a few hundred bytes."""

NAMES_KEPT = 4_096
"""More files than any user has skills; a name is read again when its file changed."""

MANAGED_FOLDERS = {"darwin": "/Library/Application Support/ClaudeCode"}
MANAGED_FOLDER_ELSEWHERE = "/etc/claude-code"

PLUGIN_FOLDERS = ((Root.CLAUDE, "plugins"), (Root.CODEX, "plugins"), (Root.COPILOT, "installed-plugins"))
"""Where agents lay down plugins."""

_PASSED_OVER = frozenset({"node_modules", ".git"})


class DiskContextFiles:
    """
    The real files; the contract is `domain.accounting.files.ContextFiles`.

    Args:
        roots: where each root lies; a root that is not here holds nothing.

    """

    def __init__(self, roots: Mapping[Root, Path]) -> None:
        self._roots = roots
        self._names: dict[tuple[str, int, int], str] = {}

    def size_of(self, path: str) -> int | None:
        """Return the bytes of a regular file, or None where there is none."""
        found = _regular_file(path)
        return None if found is None else found.st_size

    def skills_in(self, place: SkillPlace, workspace_path: str) -> list[SkillFile]:
        """Return the skills of a place, those nearest to its root first."""
        return [
            skill
            for plugin, folder in self._folders_of(place, workspace_path)
            for path in _skill_files_below(folder)
            if (skill := self._skill(path, plugin)) is not None
        ]

    def _folders_of(self, place: SkillPlace, workspace_path: str) -> Iterator[tuple[str, Path]]:
        """Yield the place's folders, each with the plugin that brings it."""
        if place.root is Root.PROJECT:
            for folder in self._project_folders(Path(workspace_path)):
                yield "", folder / place.folder
        elif place.root is Root.INSTALLED_PLUGINS:
            for plugin, folder in _installed_plugins(self._roots.get(Root.CLAUDE)):
                yield plugin, folder / place.folder
        elif place.root is Root.PLUGIN_FOLDERS:
            for root, name in PLUGIN_FOLDERS:
                if root in self._roots:
                    yield from _plugin_folders_below(self._roots[root] / name, place.folder)
        elif place.root in self._roots:
            yield "", self._roots[place.root] / place.folder

    def _project_folders(self, workspace: Path) -> list[Path]:
        """Return the workspace and the folders above it up to the repository's root, if it is in one."""
        folders: list[Path] = []
        for folder in (workspace, *workspace.parents):
            if folders and folder == self._roots.get(Root.HOME):
                break
            folders.append(folder)
            if os.path.exists(folder / ".git"):  # noqa: PTH110 - pathlib's raises where a folder is not ours to look into
                return folders
        return [workspace]

    def _skill(self, path: Path, plugin: str) -> SkillFile | None:
        found = _regular_file(path)
        if found is None:
            return None
        key = (str(path), found.st_mtime_ns, found.st_size)
        declared = self._names.get(key)
        if declared is None:
            declared = declared_name(beginning_of(path, FRONT_MATTER_BYTES_MAX))
            if len(self._names) >= NAMES_KEPT:
                self._names.clear()
            self._names[key] = declared
        return SkillFile(str(path), path.parent.name, declared, plugin, found.st_size)


def roots_of(home: Path, environment: Mapping[str, str]) -> dict[Root, Path]:
    """Return where the agents of a home keep their own files, moved by their own variables."""
    config = _named(environment, "XDG_CONFIG_HOME") or home / ".config"
    return {
        Root.HOME: home,
        Root.MANAGED: Path(MANAGED_FOLDERS.get(sys.platform, MANAGED_FOLDER_ELSEWHERE)),
        Root.CLAUDE: _named(environment, "CLAUDE_CONFIG_DIR") or home / ".claude",
        Root.CODEX: _named(environment, "CODEX_HOME") or home / ".codex",
        Root.COPILOT: _named(environment, "COPILOT_HOME") or home / ".copilot",
        Root.PI: _named(environment, "PI_CODING_AGENT_DIR") or home / ".pi" / "agent",
        Root.OPENCODE: config / "opencode",
    }


def _named(environment: Mapping[str, str], variable: str) -> Path | None:
    value = environment.get(variable, "")
    return Path(value) if value else None


def _regular_file(path: str | Path) -> os.stat_result | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - takes any text, and is asked for every skill
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _skill_files_below(folder: Path) -> Iterator[Path]:
    """Yield the skills below a folder, level by level; what lies within a skill is its own."""
    level = [folder]
    for _ in range(SKILL_DEPTH_MAX):
        below = [child for parent in level for child in _folders_in(parent)]
        skills = {child for child in below if _regular_file(child / SKILL_FILE)}
        yield from (child / SKILL_FILE for child in below if child in skills)
        level = [child for child in below if child not in skills][:FOLDERS_PER_LEVEL_MAX]


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name for entry in entries if entry.is_dir() and entry.name not in _PASSED_OVER
            )
    except (OSError, ValueError):
        return []
    return [folder / name for name in names]


def _installed_plugins(claude_home: Path | None) -> Iterator[tuple[str, Path]]:
    """Yield name and folder of each plugin in Claude Code's list, of either of its two forms."""
    if claude_home is None:
        return
    plugins = _json_object(claude_home / "plugins" / "installed_plugins.json", LIST_BYTES_MAX).get("plugins")
    for name, installed in (plugins if isinstance(plugins, dict) else {}).items():
        for copy in installed if isinstance(installed, list) else [installed]:
            path = copy.get("installPath") if isinstance(copy, dict) else None
            if isinstance(path, str) and path:
                yield name.partition("@")[0], claude_home / path


def _plugin_folders_below(folder: Path, wanted: str) -> Iterator[tuple[str, Path]]:
    """Yield the folders of skills of whatever plugins lie below a folder."""
    level = [folder]
    for _ in range(PLUGIN_DEPTH_MAX):
        below = [child for parent in level for child in _folders_in(parent)]
        yield from ((_plugin_name(child.parent), child) for child in below if child.name == wanted)
        level = [child for child in below if child.name != wanted][:FOLDERS_PER_LEVEL_MAX]


def _plugin_name(plugin: Path) -> str:
    """Return the name in a plugin's manifest; its folder's where there is none."""
    manifest = _json_object(plugin / ".claude-plugin" / "plugin.json", MANIFEST_BYTES_MAX)
    name = manifest.get("name")
    return name if isinstance(name, str) else plugin.name


def _json_object(path: Path, size_max: int) -> dict[str, object]:
    try:
        value = orjson.loads(beginning_of(path, size_max))
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
