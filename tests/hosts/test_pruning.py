from pathlib import Path

import pytest

from tokeneconomizer.domain.commented_json import document_of
from tokeneconomizer.domain.deny_list import Circumstances
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.pruning import READ_WHERE_TRUSTED, TARGETS, pi_user_settings
from tokeneconomizer.hosts.table import HOSTS


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
    assert HOSTS[host].trusts(content, ["/p"]) == trusted


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
        ("pi", "mcp__lab__alpha", "lab", ""),
        ("pi", "tool_of_an_extension", "", ""),
    ],
)
def test_a_tool_belongs_to_what_can_be_denied(host: str, tool: str, server: str, unit: str) -> None:
    assert TARGETS[host].unit_of(tool, server) == unit


@pytest.mark.parametrize("document", [{}, {"permissions": 1}, {"tools": []}, {"defaultTools": "x"}])
@pytest.mark.parametrize("host", TARGETS)
def test_any_document_is_looked_at_without_an_error(host: str, document: dict[str, object]) -> None:
    names = sorted(TARGETS[host].closed) or ["x"]
    assert isinstance(TARGETS[host].denials(document, names, Circumstances()), list)


@pytest.mark.parametrize(
    ("document", "inherited", "is_denied"),
    [
        ({}, None, True),
        ({"tools": {"task": True}, "permission": {"edit": "ask"}}, {"model": "m"}, True),
        ({"tools": {"webfetch": True}}, None, False),
        ({"tools": {"webfetch": None}}, None, False),
        ({"permission": {"webfetch": "allow"}}, None, False),
        ({"permission": {"*": "ask"}}, None, False),
        ({"permission": "allow"}, None, False),
        ({}, {"tools": {"webfetch": True}}, False),
        ({}, {"permission": {"webfetch": "deny"}}, False),
    ],
)
def test_what_the_user_says_of_a_tool_in_either_file_of_opencode_stays(
    document: dict[str, object], inherited: dict[str, object] | None, is_denied: bool
) -> None:
    found = TARGETS["opencode"].denials(document, ["webfetch"], Circumstances(inherited=inherited))
    assert bool(found) == is_denied


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf// a\n{"x": "// no, /* comment */", /* b\n */ "y": [1, 2,],}', {"x": 1, "y": 2}),
        (b'{"x": ",}", "y": 1}', {"x": 1, "y": 1}),
        (b"[1]", {}),
        (b"{", {}),
        (b"\xff", {}),
        (b"[" * 100_000, {}),
    ],
)
def test_comments_and_commas_too_many_are_passed_over(data: bytes, value: dict[str, int]) -> None:
    assert set(document_of(data) or {}) == set(value)


def test_variables_move_the_agents_folder() -> None:
    home = Path("/home/dev")
    homes = AgentHomes(home, {"CODEX_HOME": "/elsewhere", "COPILOT_HOME": "/there"})
    files = {host: HOSTS[host].trust_file(homes) for host in READ_WHERE_TRUSTED}
    assert files == {
        "codex": Path("/elsewhere/config.toml"),
        "copilot": Path("/there/config.json"),
        "pi": home / ".pi/agent/trust.json",
    }
    assert pi_user_settings(homes) == home / ".pi/agent/settings.json"
