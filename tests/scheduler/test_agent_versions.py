"""An agent's version, from its package or from its own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.scheduler.agent_versions import packaged_version, printed_version

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path, printed: str = "") -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{printed}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("package", ["agent", "@maker/agent"])
@pytest.mark.parametrize("inner", ["cli.js", "bin/deep/agent"])
@pytest.mark.parametrize(
    ("text", "version"), [('{"version": "1.2.3"}', "1.2.3"), ("{", ""), ("[]", ""), ('{"version": 1}', "")]
)
def test_a_linked_program_has_its_packages_version(
    tmp_path: Path, package: str, inner: str, text: str, version: str
) -> None:
    folder = tmp_path / "node_modules" / "outer" / "node_modules" / package
    real = program(folder / inner)
    (folder / "package.json").write_text(text)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(real)
    assert packaged_version("agent", str(tmp_path / "bin")) == version


def test_a_program_of_no_package_says_its_version_itself(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "agent", "agent 1.2.3")
    (tmp_path / "package.json").write_text('{"version": "9.9.9"}')
    assert packaged_version("agent", str(tmp_path / "bin")) == ""
    assert printed_version("agent", str(tmp_path / "bin")) == "agent 1.2.3"


def test_a_program_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert packaged_version("agent", str(tmp_path)) == printed_version("agent", str(tmp_path)) == ""
