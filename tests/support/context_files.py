"""The fake of `ContextFiles`: files in a dict; the real one passes the same tests."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.skills import Root, SkillFile
from tokeneconomizer.scheduler.context_files import SKILL_DEPTH_MAX, SKILL_FILE
from tokeneconomizer.scheduler.front_matter import declared_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.accounting.skills import SkillPlace


class FakeContextFiles:
    """
    Files in memory.

    Args:
        files: absolute path -> bytes.
        roots: where each root lies.

    """

    def __init__(self, files: Mapping[str, bytes], roots: Mapping[Root, str] | None = None) -> None:
        self._files = files
        self._roots = roots or {}

    def size_of(self, path: str) -> int | None:
        found = self._files.get(path)
        return None if found is None else len(found)

    def skills_in(self, place: SkillPlace, workspace_path: str) -> list[SkillFile]:
        if place.root is Root.PROJECT:
            bases = self._project_folders(workspace_path)
        else:
            bases = [self._roots[place.root]] if place.root in self._roots else []
        return [skill for base in bases for skill in self._below(PurePosixPath(base) / place.folder)]

    def _project_folders(self, workspace_path: str) -> list[str]:
        folders = [workspace_path]
        for folder in (PurePosixPath(workspace_path), *PurePosixPath(workspace_path).parents):
            if str(folder) not in folders:
                folders.append(str(folder))
            if any(path.startswith(f"{folder}/.git/") for path in self._files):
                return folders
        return [workspace_path]

    def _below(self, folder: PurePosixPath) -> list[SkillFile]:
        paths = [PurePosixPath(path) for path in self._files]
        skills = sorted(
            (path for path in paths if path.name == SKILL_FILE and folder in path.parents),
            key=lambda path: (len(path.parts), path),
        )
        found: list[PurePosixPath] = []
        for path in skills:
            depth = len(path.parent.relative_to(folder).parts)
            is_within = any(skill.parent in path.parents for skill in found)
            if 0 < depth <= SKILL_DEPTH_MAX and not is_within:
                found.append(path)
        return [self._skill(path) for path in found]

    def _skill(self, path: PurePosixPath) -> SkillFile:
        content = self._files[str(path)]
        return SkillFile(str(path), path.parent.name, declared_name(content), "", len(content))
