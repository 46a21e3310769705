"""Which rules files count: in the workspace, above it, and in the agent's own folder."""

from __future__ import annotations

import pytest
from context_files import FakeContextFiles

from tokeneconomizer.domain.accounting.rules import RulesFiles

WORKSPACE = "/home/dev/project"
EACH = (("CLAUDE.md",), ("CLAUDE.local.md",))
ONE = ("AGENTS.md", "CLAUDE.md")


@pytest.mark.parametrize(
    ("rules", "there", "loaded"),
    [
        (RulesFiles(in_workspace=EACH), ["CLAUDE.md", "CLAUDE.local.md"], ["CLAUDE.md", "CLAUDE.local.md"]),
        (RulesFiles(in_workspace=(ONE,)), ["AGENTS.md", "CLAUDE.md"], ["AGENTS.md"]),
        (RulesFiles(in_workspace=(ONE,)), ["CLAUDE.md"], ["CLAUDE.md"]),
        (RulesFiles(in_workspace=(ONE,)), ["../AGENTS.md", "src/AGENTS.md"], []),
        (RulesFiles((), (ONE,), (ONE,)), ["AGENTS.md", "../CLAUDE.md"], ["AGENTS.md", "../CLAUDE.md"]),
        (RulesFiles(own=(("/etc/AGENTS.md",),)), ["AGENTS.md", "/etc/AGENTS.md"], ["/etc/AGENTS.md"]),
        (RulesFiles(), ["AGENTS.md", "CLAUDE.md"], []),
    ],
)
def test_the_files_that_an_agent_loads(rules: RulesFiles, there: list[str], loaded: list[str]) -> None:
    def absolute(name: str) -> str:
        return name if name.startswith("/") else f"{WORKSPACE}/{name}".replace("/project/..", "")

    files = FakeContextFiles({absolute(name): b"x" for name in there})
    assert rules.loaded_in(WORKSPACE, files) == [absolute(name) for name in loaded]


def test_an_empty_file_gives_way_to_its_alternative() -> None:
    files = FakeContextFiles({f"{WORKSPACE}/AGENTS.md": b"", f"{WORKSPACE}/CLAUDE.md": b"x"})
    assert RulesFiles(in_workspace=(ONE,)).loaded_in(WORKSPACE, files) == [f"{WORKSPACE}/CLAUDE.md"]


@pytest.mark.parametrize("workspace", ["", ".", "/", "project", "//project/"])
def test_any_workspace_has_an_end_above(workspace: str) -> None:
    assert RulesFiles(in_workspace=EACH, above=EACH).loaded_in(workspace, FakeContextFiles({})) == []
