"""Which SKILL.md an agent loads for a name: the folders it looks into, in its own order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.accounting.invocations import canonicalize_skill_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.domain.accounting.files import ContextFiles


class Root(StrEnum):
    """Where a folder of skills begins."""

    PROJECT = "project"
    """The workspace, then the folders above it up to the repository's root."""
    MANAGED = "managed"
    """What an organisation lays down for all users of a machine."""
    HOME = "home"
    CLAUDE = "claude"
    CODEX = "codex"
    COPILOT = "copilot"
    PI = "pi"
    OPENCODE = "opencode"
    INSTALLED_PLUGINS = "installed_plugins"
    """The plugins that Claude Code lists as installed."""
    PLUGIN_FOLDERS = "plugin_folders"
    """Whatever lies in any agent's folder of plugins."""


class SkillPlace(NamedTuple):
    """A folder of skills, below its root."""

    root: Root
    folder: str


@dataclass(frozen=True, slots=True)
class SkillFile:
    """
    One SKILL.md.

    Attributes:
        path: absolute.
        folder: the base name of its folder.
        declared: the name in its front matter, or empty.
        plugin: the plugin that brings it, or empty.
        size_bytes: of the file.

    """

    path: str
    folder: str
    declared: str
    plugin: str
    size_bytes: int

    @property
    def name(self) -> str:
        """The name as the file gives it; its folder's where it gives none."""
        return self.declared or self.folder


_PROJECT_CLAUDE = SkillPlace(Root.PROJECT, ".claude/skills")
_PROJECT_AGENTS = SkillPlace(Root.PROJECT, ".agents/skills")
_PROJECT_CODEX = SkillPlace(Root.PROJECT, ".codex/skills")
_PROJECT_GITHUB = SkillPlace(Root.PROJECT, ".github/skills")
_PROJECT_PI = SkillPlace(Root.PROJECT, ".pi/skills")
_PROJECT_OPENCODE = SkillPlace(Root.PROJECT, ".opencode/skills")
_PROJECT_OPENCODE_OLD = SkillPlace(Root.PROJECT, ".opencode/skill")
_MANAGED = SkillPlace(Root.MANAGED, ".claude/skills")
_USER_CLAUDE = SkillPlace(Root.CLAUDE, "skills")
_USER_AGENTS = SkillPlace(Root.HOME, ".agents/skills")
_USER_CODEX = SkillPlace(Root.CODEX, "skills")
_USER_COPILOT = SkillPlace(Root.COPILOT, "skills")
_USER_PI = SkillPlace(Root.PI, "skills")
_USER_OPENCODE = SkillPlace(Root.OPENCODE, "skills")
_USER_OPENCODE_OLD = SkillPlace(Root.OPENCODE, "skill")
_INSTALLED_PLUGINS = SkillPlace(Root.INSTALLED_PLUGINS, "skills")
_PLUGIN_FOLDERS = SkillPlace(Root.PLUGIN_FOLDERS, "skills")

OWN_PLACES: dict[str, tuple[SkillPlace, ...]] = {
    # Claude Code's documentation: enterprise over personal over project; plugins have names of their own.
    "claude_code": (_MANAGED, _USER_CLAUDE, _PROJECT_CLAUDE, _INSTALLED_PLUGINS),
    # The runtime that the contract comes from looks into the project, the user's folder, what is installed,
    # and what other agents share.
    "codepilot_runtime": (_PROJECT_CLAUDE, _USER_CLAUDE, _INSTALLED_PLUGINS, _USER_AGENTS),
    "codex_runtime": (_PROJECT_AGENTS, _PROJECT_CODEX, _USER_AGENTS, _USER_CODEX),
    "copilot": (
        _PROJECT_GITHUB,
        _PROJECT_AGENTS,
        _PROJECT_CLAUDE,
        _USER_COPILOT,
        _USER_AGENTS,
        _USER_CLAUDE,
    ),
    # Pi's documentation: the first one found is kept, global folders first.
    "pi": (_USER_PI, _USER_AGENTS, _PROJECT_PI, _PROJECT_AGENTS),
    # opencode lets a later folder replace an earlier one; this is its order backwards.
    "opencode": (
        _PROJECT_OPENCODE,
        _PROJECT_OPENCODE_OLD,
        _USER_OPENCODE,
        _USER_OPENCODE_OLD,
        _PROJECT_AGENTS,
        _PROJECT_CLAUDE,
        _USER_AGENTS,
        _USER_CLAUDE,
    ),
}
"""Runtime -> its own folders of skills, the one that wins first."""

ALL_PLACES = (
    _PROJECT_CLAUDE,
    _PROJECT_AGENTS,
    _PROJECT_GITHUB,
    _PROJECT_CODEX,
    _PROJECT_PI,
    _PROJECT_OPENCODE,
    _PROJECT_OPENCODE_OLD,
    _MANAGED,
    _USER_CLAUDE,
    _USER_AGENTS,
    _USER_CODEX,
    _USER_COPILOT,
    _USER_PI,
    _USER_OPENCODE,
    _USER_OPENCODE_OLD,
    _INSTALLED_PLUGINS,
    _PLUGIN_FOLDERS,
)
"""Users tell an agent to read other agents' folders as well: they come behind its own."""


def skill_places(produced_by: str) -> tuple[SkillPlace, ...]:
    """Return all folders of skills, those that win in this runtime first."""
    return tuple(dict.fromkeys((*OWN_PLACES[produced_by], *ALL_PLACES)))


def find_skills(
    names: Iterable[object], produced_by: str, workspace_path: str, files: ContextFiles
) -> list[SkillFile]:
    """Return the files that the runtime loads for these names, each once; a name without a file has none."""
    wanted = set(map(canonicalize_skill_name, names)) - {""}
    found: dict[str, SkillFile] = {}
    for place in skill_places(produced_by):
        if not wanted:
            break
        skills = files.skills_in(place, workspace_path)
        # A declared name is the skill's own; its folder's helps where a file declares none or another one.
        for field in ("declared", "folder"):
            for skill in skills:
                matching = wanted.intersection(_callable_names(skill, getattr(skill, field)))
                if matching:
                    found.setdefault(skill.path, skill)
                    wanted -= matching
    return list(found.values())


def _callable_names(skill: SkillFile, own_name: str) -> Iterator[str]:
    yield canonicalize_skill_name(own_name)
    if skill.plugin:
        yield canonicalize_skill_name(f"{skill.plugin}:{own_name}")
