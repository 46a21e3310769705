import json
import os
import subprocess
from pathlib import Path

import pytest
from deny_list_runs import ONE_NAME, Checkout

from tokeneconomizer.hosts.pruning import TARGETS

WRITTEN = {
    "claude_code": {"permissions": {"deny": ["Workflow"]}},
    "copilot": {"disabledMcpServers": ["lab"]},
    "pi": {"defaultTools": ["read", "edit", "write"]},
    "opencode": {"$schema": "https://opencode.ai/config.json", "tools": {"webfetch": False}},
}
JSON_HOSTS = [host for host in TARGETS if host != "codex"]
TRUSTING = ["codex", "copilot", "pi"]


def git(folder: Path, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    command = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@example.org", *words]
    return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("host", TARGETS)
def test_a_name_is_denied_in_the_agents_own_file_and_taken_back(host: str, tmp_path: Path) -> None:  # S6.4
    checkout = Checkout(tmp_path, host)
    answer = checkout.deny_list().apply([ONE_NAME[host]])
    assert (answer.written, answer.added, answer.refused) == (True, (ONE_NAME[host],), None)
    if host == "codex":
        assert checkout.file.read_text() == "features.goals = false  # tokeneconomizer:goals\n"
    else:
        assert json.loads(checkout.file.read_bytes()) == WRITTEN[host]
    again = checkout.deny_list().apply([ONE_NAME[host]])
    assert (again.written, again.added, again.refused) == (False, (), None)
    restored = checkout.deny_list().restore()
    assert (restored.written, restored.removed) == (True, (ONE_NAME[host],))
    assert tree(checkout.path) == {}
    assert checkout.deny_list().restore().removed == ()


@pytest.mark.parametrize("host", JSON_HOSTS)
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"{}",
        b'{"a":1}',
        b'\xef\xbb\xbf{\r\n\t"a": 12345678901234567890.5\r\n}',
        b'{"permissions": {"deny": ["X"]}, "disabledMcpServers": ["x"], "tools": {"x": true}}\n',
    ],
)
def test_a_file_of_the_users_comes_back_byte_for_byte(host: str, before: bytes, tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, host)
    checkout.write(before)
    checkout.file.chmod(0o640)
    assert checkout.deny_list().apply([ONE_NAME[host], ONE_NAME[host]]).added == (ONE_NAME[host],)
    assert checkout.deny_list().restore().written
    assert checkout.read() == before
    assert checkout.file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("host", JSON_HOSTS)
@pytest.mark.parametrize("text", [b'// c\n{"a": 1}', b'{"a": 1, "a": 2}', b'{"a": 1,}', b"[]", b"{\xff}"])
def test_a_file_that_its_agent_would_not_read_is_left(host: str, text: bytes, tmp_path: Path) -> None:  # S6.6
    checkout = Checkout(tmp_path, host)
    checkout.write(text)
    answer = checkout.deny_list().apply([ONE_NAME[host]])
    assert answer.refused is not None
    assert answer.refused.reason == "not_parsable"
    assert checkout.read() == text
    # Nothing is on record that could be taken back.
    assert not checkout.deny_list().restore().written


@pytest.mark.parametrize("host", TRUSTING)
def test_a_folder_that_the_agent_does_not_trust_is_left(host: str, tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, host)
    checkout.trust("/elsewhere")
    answer = checkout.deny_list().apply([ONE_NAME[host]])
    assert answer.refused is not None
    assert answer.refused.reason == "untrusted"
    assert tree(checkout.path) == {}


def test_copilot_trusts_what_lies_below_a_trusted_folder(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "copilot")
    checkout.trust(str(tmp_path))
    assert checkout.deny_list().apply(["lab"]).written


def test_codex_trusts_the_worktrees_of_a_trusted_checkout(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "codex")
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    checkout.path.rmdir()
    git(main, "worktree", "add", "-q", str(checkout.path))
    checkout.trust(str(main))
    assert checkout.deny_list().apply(["goals"]).written


def test_a_worktree_needs_no_names_that_the_main_checkout_denies(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "claude_code")
    main = tmp_path / "main"
    (main / ".claude").mkdir(parents=True)
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    checkout.path.rmdir()
    git(main, "worktree", "add", "-q", str(checkout.path))
    (main / ".claude" / "settings.local.json").write_text('{"permissions": {"deny": ["Agent"]}}')
    assert checkout.deny_list().apply(["Agent", "Workflow"]).added == ("Workflow",)


def test_a_name_that_codex_does_not_have_is_refused(tmp_path: Path) -> None:
    answer = Checkout(tmp_path, "codex").deny_list().apply(["goals", "gaols"])
    assert answer.refused is not None
    assert answer.refused.reason == "unknown_name"
    assert "gaols" in answer.refused.detail


@pytest.mark.parametrize("host", TARGETS)
def test_a_file_that_git_tracks_is_refused_unless_allowed(host: str, tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, host)
    before = b"" if host == "codex" else b"{}"
    checkout.write(before)
    git(checkout.path, "init", "-q")
    git(checkout.path, "add", "-f", ".")
    answer = checkout.deny_list().apply([ONE_NAME[host]])
    assert answer.refused is not None
    assert answer.refused.reason == "tracked"
    assert checkout.deny_list().apply([ONE_NAME[host]], allow_tracked=True).written
    assert checkout.deny_list().restore().written
    assert checkout.read() == before


@pytest.mark.parametrize("host", TARGETS)
def test_a_file_that_we_made_is_kept_out_of_git(host: str, tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, host)
    git(checkout.path, "init", "-q")
    exclude = checkout.path / ".git" / "info" / "exclude"
    before = exclude.read_bytes()
    assert checkout.deny_list().apply([ONE_NAME[host]]).written
    assert git(checkout.path, "status", "--short") == ""
    assert checkout.deny_list().restore().written
    assert exclude.read_bytes() == before


def test_a_file_that_git_ignores_already_needs_no_line(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "claude_code")
    git(checkout.path, "init", "-q")
    (checkout.path / ".gitignore").write_text(".claude/\n")
    exclude = checkout.path / ".git" / "info" / "exclude"
    before = exclude.read_bytes()
    checkout.deny_list().apply(["Workflow"])
    assert exclude.read_bytes() == before


@pytest.mark.parametrize(
    ("host", "since", "left"),
    [
        ("claude_code", {"model": "m", "permissions": {"deny": ["Workflow"]}}, {"model": "m"}),
        ("claude_code", {"permissions": {"deny": ["X"]}}, {"permissions": {"deny": ["X"]}}),
        ("opencode", {"tools": {"webfetch": True}}, {"tools": {"webfetch": True}}),
        ("opencode", {"tools": {"task": False, "webfetch": False}}, {"tools": {"task": False}}),
        ("pi", {"defaultTools": ["read"]}, {"defaultTools": ["read"]}),
    ],
)
def test_what_the_user_changed_since_is_the_users(
    host: str, since: object, left: object, tmp_path: Path
) -> None:  # S6.7
    checkout = Checkout(tmp_path, host)
    checkout.deny_list().apply([ONE_NAME[host]])
    checkout.write(json.dumps(since).encode())
    assert checkout.deny_list().restore().refused is None
    assert json.loads(checkout.read() or b"{}") == left


def test_stripped_markers_and_other_line_ends_do_not_hide_what_is_ours(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "codex")
    checkout.write(b'model = "m"\n\n[features]\nhooks = true\n')
    checkout.deny_list().apply(["goals", "collaboration"])
    lines = [line.partition("#")[0].rstrip() for line in checkout.file.read_text().splitlines()]
    checkout.write("\r\n".join([*lines, "# theirs", ""]).encode())
    assert checkout.deny_list().restore().removed == ("goals", "collaboration")
    assert checkout.read() == b'model = "m"\r\n\r\n[features]\r\nhooks = true\r\n# theirs\r\n'


def test_a_switch_that_the_user_turned_on_since_stays_on(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "codex")
    checkout.deny_list().apply(["goals", "image_media"])
    checkout.write(checkout.file.read_bytes().replace(b"goals = false", b"goals = true"))
    assert checkout.deny_list().restore().removed == ("image_media",)
    assert checkout.read() == b"features.goals = true  # tokeneconomizer:goals\n"


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [
        ("1.6.0", {}, {"defaultTools": ["-bash"]}),
        ("1.3.0", {"defaultTools": ["+grep"]}, {"defaultTools": ["+grep", "-bash"]}),
        ("0.87.1", {"defaultTools": ["+grep"]}, {"defaultTools": ["read", "edit", "write", "grep"]}),
        ("0.87.1", {}, {"defaultTools": ["read", "edit", "write"]}),
        ("1.6.0", {"defaultTools": ["bash", "read"]}, {"defaultTools": ["read"]}),
        ("1.6.0", {"defaultTools": ["bash", "read", "bash"]}, {"defaultTools": ["read"]}),
        ("1.6.0", {"defaultTools": ["read", "+bash"]}, {"defaultTools": ["read", "+bash", "-bash"]}),
        ("1.6.0", {"defaultTools": []}, {"defaultTools": []}),
        ("0.87.1", {"defaultTools": []}, {"defaultTools": []}),
    ],
)
def test_pi_gets_the_form_that_its_version_understands(
    version: str, before: object, after: object, tmp_path: Path
) -> None:
    checkout = Checkout(tmp_path, "pi", version)
    checkout.write(json.dumps(before).encode())
    checkout.deny_list().apply(["bash"])
    assert json.loads(checkout.file.read_bytes()) == after
    checkout.deny_list().restore()
    assert json.loads(checkout.file.read_bytes()) == before


@pytest.mark.parametrize(
    ("users", "after"),
    [
        ({"defaultTools": ["bash", "ls"]}, {"defaultTools": ["ls"]}),
        ({"defaultTools": ["+ls", "-edit"]}, {"defaultTools": ["read", "write", "ls"]}),
        ({"defaultTools": []}, {}),
    ],
)
def test_an_older_pi_is_given_what_is_left_of_the_users_own_list(
    users: object, after: object, tmp_path: Path
) -> None:
    checkout = Checkout(tmp_path, "pi", "0.87.1")
    (checkout.user_home / ".pi" / "agent" / "settings.json").write_text(json.dumps(users))
    checkout.deny_list().apply(["bash"])
    assert json.loads(checkout.read() or b"{}") == after


def test_what_opencodes_second_file_says_of_a_tool_is_the_users_word(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "opencode")
    (checkout.path / "opencode.jsonc").write_text('// mine\n{"tools": {"webfetch": true,}}')
    assert checkout.deny_list().apply(["webfetch", "task"]).added == ("task",)


def test_two_writes_are_taken_back_as_one(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "claude_code")
    checkout.write(b'{ "a" : 1 }')
    checkout.deny_list().apply(["Workflow"])
    checkout.deny_list().apply(["Agent", "Workflow"])
    assert checkout.deny_list().restore().removed == ("Workflow", "Agent")
    assert checkout.read() == b'{ "a" : 1 }'


def test_a_refused_second_write_leaves_the_record_of_the_first(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "claude_code")
    checkout.deny_list().apply(["Workflow"])
    made = checkout.file.read_bytes()
    checkout.write(b"{")
    assert checkout.deny_list().apply(["Agent"]).refused is not None
    assert checkout.deny_list().restore().refused is not None
    checkout.write(made)
    assert checkout.deny_list().restore().removed == ("Workflow",)


def test_a_record_is_found_after_the_repository_got_an_origin(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, "claude_code")
    git(checkout.path, "init", "-q")
    checkout.deny_list().apply(["Workflow"])
    git(checkout.path, "remote", "add", "origin", "https://example.org/team/project")
    checkout.deny_list().apply(["Agent"])
    assert checkout.deny_list().restore().removed == ("Workflow", "Agent")
    records = list(checkout.home.root.glob("repos/*/*/untool_applied.json"))
    assert all(json.loads(record.read_bytes()) == {} for record in records)
    assert all(record.stat().st_mode & 0o777 == 0o600 for record in records)
