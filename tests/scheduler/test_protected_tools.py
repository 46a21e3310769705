from pathlib import Path

import pytest

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.scheduler.protected_tools import tools_allowed_in


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (".claude/settings.json", '{"permissions": {"allow": ["Bash(git:*)", "Skill"]}}', {"Bash", "Skill"}),
        (".claude/settings.local.json", '{"permissions": {"allow": ["mcp__a__b"]}}', {"mcp__a__b"}),
        (".claude/settings.json", "{", set()),
        (
            ".github/agents/x.agent.md",
            '---\ntools: ["read", "lab/alpha"]\n---\n',
            {"read", "lab", "lab/alpha"},
        ),
        (".claude/skills/x/SKILL.md", "---\nallowed-tools: Agent, Bash(ls:*)\n---\n", {"Agent", "Bash"}),
        (".claude/commands/deep/x.md", "---\r\nallowed-tools:\r\n  - Workflow\r\n---\r\n", {"Workflow"}),
        (".opencode/agent/x.md", "---\ntools:\n  task: true\n  write: false\n---\n", {"task"}),
        (".claude/skills/x/SKILL.md", "---\ntools: [\n---\n", set()),
        (".claude/skills/x/SKILL.md", "tools: Agent\n", set()),
        (".claude/skills/x/SKILL.md", "---\n- Agent\n---\n", set()),
    ],
)
def test_what_files_name_is_found(name: str, text: str, found: set[str], tmp_path: Path) -> None:  # S6.5
    file = tmp_path / "checkout" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    assert tools_allowed_in(tmp_path / "checkout", AgentHomes(tmp_path / "user")) == found


def test_the_users_own_allow_list_counts(tmp_path: Path) -> None:
    settings = tmp_path / "user" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"permissions": {"allow": ["Agent"]}}')
    assert tools_allowed_in(tmp_path, AgentHomes(tmp_path / "user")) == {"Agent"}
