from pathlib import Path

import pytest

from tokeneconomizer.domain.deny_list import Circumstances
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.pruning import TARGETS, TRUST, agent_file


@pytest.mark.parametrize(
    ("host", "content", "trusted"),
    [
        ("codex", b'[projects."/p"]\ntrust_level = "trusted"\n', True),
        ("codex", b'\xef\xbb\xbf[projects."/p"]\ntrust_level = "trusted"\n', True),
        ("codex", b'[projects."/p"]\ntrust_level = "untrusted"\n', False),
        ("codex", b'[projects."/q"]\ntrust_level = "trusted"\n', False),
        ("codex", b"projects = 1\n", False),
        ("codex", b"[", False),
        ("copilot", b'// c\n{"trustedFolders": ["/p"]}', True),
        ("copilot", b'{"trusted_folders": ["/"], "a": "// no comment"}', True),
        ("copilot", b'{"trustedFolders": ["/p/deeper"]}', False),
        ("copilot", b"{", False),
        ("pi", b'{"/p": true}', True),
        ("pi", b'{"/p": false}', False),
        ("pi", b"[]", False),
    ],
)
def test_the_users_own_file_says_whether_a_folder_is_trusted(
    host: str, content: bytes, trusted: bool
) -> None:
    _, is_trusted = TRUST[host]
    assert is_trusted(content, ["/p"]) == trusted


@pytest.mark.parametrize(
    ("host", "tool", "server", "unit"),
    [
        ("claude_code", "Task", "", "Agent"),
        ("claude_code", "mcp__lab__alpha", "lab", "mcp__lab__alpha"),
        ("codex", "create_goal", "", "goals"),
        ("codex", "collaborationspawn_agent", "", "collaboration"),
        ("codex", "mcp__lab__alpha", "lab", ""),
        ("codex", "exec_command", "", ""),
        ("copilot", "lab-alpha", "lab", "lab"),
        ("copilot", "bash", "", ""),
        ("pi", "bash", "", "bash"),
    ],
)
def test_a_tool_belongs_to_what_can_be_denied(host: str, tool: str, server: str, unit: str) -> None:
    assert TARGETS[host].unit_of(tool, server) == unit


@pytest.mark.parametrize("document", [{}, {"permissions": 1}, {"tools": []}, {"defaultTools": "x"}])
@pytest.mark.parametrize("host", TARGETS)
def test_any_document_is_looked_at_without_an_error(host: str, document: dict[str, object]) -> None:
    names = sorted(TARGETS[host].closed) or ["x"]
    assert isinstance(TARGETS[host].denials(document, names, Circumstances()), list)


def test_variables_move_the_agents_folder() -> None:
    homes = AgentHomes(Path("/home/dev"), {"CODEX_HOME": "/elsewhere"})
    assert agent_file("codex", homes, "config.toml") == Path("/elsewhere/config.toml")
    assert agent_file("pi", homes, "trust.json") == Path("/home/dev/.pi/agent/trust.json")
