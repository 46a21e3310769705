"""What each agent supplies to the accounting contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from context_files import FakeContextFiles

from tokeneconomizer.domain.accounting.skills import Root
from tokeneconomizer.domain.accounting.snapshot import PRODUCERS
from tokeneconomizer.hosts.logs import LOGS
from tokeneconomizer.hosts.runtimes import runtimes

HOME = Path("/home/dev")
RUNTIMES = runtimes({root: HOME / f".{root.value}" for root in Root})
WORKSPACE = "/home/dev/work/project"


def test_every_agent_whose_log_is_read_has_a_name_of_the_contract() -> None:
    assert set(RUNTIMES) == set(LOGS)
    assert {runtime.produced_by for runtime in RUNTIMES.values()} == set(PRODUCERS) - {"codepilot_runtime"}


@pytest.mark.parametrize(
    ("host", "loaded"),
    [
        (
            "claude_code",
            [
                ".managed/CLAUDE.md",
                ".claude/CLAUDE.md",
                "work/project/CLAUDE.md",
                "work/CLAUDE.md",
                "CLAUDE.md",
            ],
        ),
        ("codex", [".codex/AGENTS.override.md", "work/project/AGENTS.md"]),
        ("copilot", ["work/project/AGENTS.md", "work/project/CLAUDE.md"]),
        ("pi", [".pi/AGENTS.md", "work/project/AGENTS.md", "work/CLAUDE.md", "CLAUDE.md"]),
        ("opencode", [".opencode/AGENTS.md", "work/project/AGENTS.md"]),
    ],
)
def test_the_rules_that_an_agent_loads(host: str, loaded: list[str]) -> None:
    there = [
        ".managed/CLAUDE.md",
        "work/project/AGENTS.md",
        *(f"{folder}CLAUDE.md" for folder in ("", ".claude/", "work/", "work/project/")),
        *(f".{agent}/AGENTS.md" for agent in ("codex", "pi", "opencode")),
        ".codex/AGENTS.override.md",
    ]
    files = FakeContextFiles({f"{HOME}/{name}": b"x" for name in there})
    assert RUNTIMES[host].rules.loaded_in(WORKSPACE, files) == [f"{HOME}/{name}" for name in loaded]
