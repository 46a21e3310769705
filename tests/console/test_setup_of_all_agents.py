"""`te setup` on a home with all five agents: installed, again, one by one, and taken back (S2.10)."""

from __future__ import annotations

import json
import os
import sys
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from console_runs import te

from tokeneconomizer.console.installations.table import INSTALLATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

FILES = {
    "claude_code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "copilot": ".copilot/settings.json",
    "pi": ".pi/agent/extensions/tokeneconomizer.ts",
    "opencode": ".config/opencode/opencode.json",
}
"""What each agent's registration changes or makes."""

FOLDERS = (".claude", ".codex", ".copilot", ".pi/agent", ".config/opencode")

HOOKS = '{"hooks": {"Stop": [{"hooks": [{"command": "mine"}]}]}, "enabledPlugins": {"a@b": true}}'
PLUGINS = '{\n\t"plugin": ["mine@1.0.0", "file:///mine.ts"],\n\t"tools": {"bash": true}\n}\n'
CONFIG = '# mine\nmodel = "m" # usual\n\n[plugins."a@b"]\nenabled = true\n\n[hooks.state."a@b:x"]\nb = 1\n'
COMMENTED = '// mine\n{\n  "theme": "dark", /* too */\n}\n'

OWN: dict[str, dict[str, str]] = {
    "nothing": {},
    "their own": {
        "claude_code": HOOKS,
        "codex": CONFIG,
        "copilot": HOOKS,
        "opencode": PLUGINS,
    },
    "CRLF": {
        "claude_code": HOOKS.replace(", ", ",\r\n"),
        "codex": CONFIG.replace("\n", "\r\n"),
        "copilot": COMMENTED.replace("\n", "\r\n"),
        "opencode": PLUGINS.replace("\n", "\r\n"),
    },
    "a byte order mark": {
        "claude_code": "\ufeff" + HOOKS,
        "codex": "\ufeff" + CONFIG,
        "copilot": "\ufeff" + COMMENTED,
        "opencode": "\ufeff" + COMMENTED,
    },
    "no last line end": {
        "claude_code": "{}",
        "codex": CONFIG.rstrip("\n"),
        "copilot": COMMENTED + "// end",
        "opencode": "{} // end",
    },
    "nothing but blanks": {"claude_code": " \n", "codex": "\n\n", "copilot": " ", "opencode": "\t"},
    "empty parents": {
        "claude_code": '{"enabledPlugins": {}, "extraKnownMarketplaces": {}}',
        "codex": "[plugins]\n\n[marketplaces]\n",
        "copilot": '{"enabledPlugins": {}, "extraKnownMarketplaces": {}}',
        "opencode": '{"plugin": []}',
    },
}


@pytest.fixture
def user(home: Home) -> Path:
    folder = home.root.parent / "user"
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    return folder


def write(user: Path, texts: dict[str, str]) -> None:
    for host, text in texts.items():
        (user / FILES[host]).parent.mkdir(parents=True, exist_ok=True)
        (user / FILES[host]).write_bytes(text.encode())


def everything(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """All that lies below a folder, with its rights."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        content: bytes | str = "folder"
        if path.is_symlink():
            content = str(path.readlink())
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, content)
    return found


@pytest.mark.parametrize("texts", OWN.values(), ids=OWN)
def test_all_are_installed_once_and_given_back_byte_for_byte(
    home: Home, user: Path, texts: dict[str, str]
) -> None:
    write(user, texts)
    before = everything(user)
    planned = te("setup", "--dry-run", "--json")
    assert everything(user) == before
    done = te("setup", "--json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["changed"] == json.loads(planned.out)["changed"]
    installed = everything(user)
    assert all(file in installed for file in FILES.values())
    again = te("setup")
    assert (again.status, again.out) == (0, "")
    assert everything(user) == installed
    planned = te("setup", "--uninstall", "--dry-run", "--json")
    assert everything(user) == installed
    done = te("setup", "--uninstall", "--json")
    assert done.status == 0
    assert json.loads(done.out)["changed"] == json.loads(planned.out)["changed"]
    assert everything(user) == before
    assert list(home.plugins.iterdir()) == []
    assert "removed already" in te("setup", "--uninstall").err


@pytest.mark.parametrize("order", list(permutations(INSTALLATIONS))[::50])
def test_the_order_makes_no_difference(user: Path, order: tuple[str, ...]) -> None:
    write(user, OWN["their own"])
    before = everything(user)
    for host in order:
        assert te("setup", host).status == 0
    installed = everything(user)
    assert te("setup").out == ""
    te("setup", "--uninstall", order[2])
    assert te("setup", order[2]).status == 0
    assert everything(user) == installed
    for host in order[2:] + order[:2]:
        assert te("setup", "--uninstall", host).status == 0
    assert everything(user) == before


@pytest.mark.parametrize("host", INSTALLATIONS)
def test_removing_one_leaves_the_others(user: Path, host: str) -> None:
    for other in INSTALLATIONS:
        if other != host:
            te("setup", other)
    without = everything(user)
    te("setup", host)
    te("setup", "--uninstall", host)
    assert everything(user) == without


DAMAGES = [None, b"{", b"[]", b"\xff\xfe", b"record of another kind"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_with_a_lost_or_damaged_record_nothing_names_us_after_uninstalling(
    home: Home, user: Path, damage: bytes | None
) -> None:
    write(user, OWN["their own"])
    before = everything(user)
    te("setup")
    if damage is None:
        home.installed.unlink()
    elif b"kind" in damage:
        kept = json.loads(home.installed.read_bytes())
        home.installed.write_text(json.dumps(dict.fromkeys(kept, "{}") | {"more": 1}))
    else:
        home.installed.write_bytes(damage)
    again = te("setup")
    assert (again.status, again.out) == (0, "")
    assert te("setup", "--uninstall").status == 0
    assert "tokeneconomizer" not in str(everything(user))
    for host in ("claude_code", "copilot", "opencode"):
        now, then = (files[FILES[host]][1] for files in (everything(user), before))
        assert json.loads(now) == json.loads(then)
    assert te("setup").status == te("setup", "--uninstall").status == 0


REFUSED = {
    "claude_code": "{",
    "codex": "a = = 1",
    "copilot": '{"a": 1, "a": 2}',
    "pi": "// mine",
    "opencode": '{"plugin": 7}',
}


@pytest.mark.parametrize("host", INSTALLATIONS)
def test_where_one_is_left_as_it_is_the_others_get_theirs(home: Home, user: Path, host: str) -> None:
    write(user, {**OWN["their own"], host: REFUSED[host]})
    before = everything(user)
    done = te("setup")
    assert done.status == 1
    assert f"{INSTALLATIONS[host].TITLE} was left as it is" in done.err
    assert (user / FILES[host]).read_text() == REFUSED[host]
    assert not (home.plugins / host).exists()
    for other in set(INSTALLATIONS) - {host}:
        assert str(user / FILES[other]) in done.out
    assert te("setup", "--uninstall").status == 0
    assert everything(user) == before


@pytest.mark.parametrize("host", [host for host in FILES if host != "pi"])
def test_a_file_that_cannot_be_read_any_more_keeps_only_its_own_agent(user: Path, host: str) -> None:
    te("setup")
    (user / FILES[host]).write_text("{ tokeneconomizer")
    done = te("setup", "--uninstall")
    assert done.status == 1
    assert INSTALLATIONS[host].TITLE in done.err
    left = everything(user)
    assert all(FILES[other] not in left for other in FILES if other != host)


@pytest.mark.parametrize("host", [host for host in FILES if host != "pi"])
def test_a_file_that_is_read_only_is_refused_and_no_trouble_where_nothing_is_to_change(
    user: Path, host: str
) -> None:
    write(user, OWN["their own"])
    file = user / FILES[host]
    file.chmod(0o444)
    assert "read-only" in te("setup", host).err
    file.chmod(0o644)
    te("setup", host)
    file.chmod(0o444)
    assert te("setup", host).status == 0
    assert te("setup", host, "--uninstall").status == 1
    assert "tokeneconomizer" in file.read_text()
    file.chmod(0o644)
    assert te("setup", host, "--uninstall").status == 0
    assert file.read_text() == OWN["their own"][host]


@pytest.mark.parametrize("host", [host for host in FILES if host != "pi"])
def test_a_link_within_the_home_is_followed_and_stays(user: Path, host: str) -> None:
    write(user, OWN["their own"])
    file, real = user / FILES[host], user / "dotfiles" / host
    real.parent.mkdir()
    file.rename(real)
    file.symlink_to(real)
    before = everything(user)
    assert te("setup", host).status == 0
    assert "tokeneconomizer" in real.read_text()
    assert te("setup", host, "--uninstall").status == 0
    assert everything(user) == before


def test_after_the_interpreter_moved_the_same_command_mends_it(
    home: Home, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(user)
    te("setup")
    monkeypatch.setattr(sys, "executable", "/moved/bin/python")
    moved = {finding["words"] for finding in json.loads(te("doctor", "--json").out)}
    assert sum("another installation of this program wrote" in words for words in moved) == len(INSTALLATIONS)
    assert te("setup").status == 0
    told = [finding["words"] for finding in json.loads(te("doctor", "--json").out)]
    assert not any("another installation" in words for words in told)
    assert te("setup", "--uninstall").status == 0
    assert everything(user) == before
    assert list(home.plugins.iterdir()) == []


def test_what_another_home_registered_is_taken_over_and_removed(
    home: Home, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(user, OWN["their own"])
    before = everything(user)
    monkeypatch.setenv("TOKENECONOMIZER_HOME", str(home.root.parent / "before"))
    te("setup")
    monkeypatch.setenv("TOKENECONOMIZER_HOME", str(home.root))
    assert te("setup").status == 0
    assert str(home.root.parent / "before") not in str(everything(user))
    assert te("setup").out == ""
    assert te("setup", "--uninstall").status == 0
    assert "tokeneconomizer" not in str(everything(user))
    assert {name for name, (_, content) in everything(user).items() if content != "folder"} == {
        name for name, (_, content) in before.items() if content != "folder"
    }


VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR", "XDG_CONFIG_HOME")


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("is_linked", [False, True])
def test_the_folders_that_variables_name_are_used_and_left_as_they_were(
    home: Home, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, exists: bool, is_linked: bool
) -> None:
    untouched = everything(user)
    for variable in VARIABLES:
        named = tmp_path / variable
        monkeypatch.setenv(variable, str(named))
        if exists and is_linked:
            (tmp_path / "real" / variable).mkdir(parents=True)
            named.symlink_to(tmp_path / "real" / variable)
        elif exists:
            named.mkdir()
    before = everything(tmp_path)
    done = te("setup", *INSTALLATIONS)
    assert done.status == 0
    assert all(f"{variable}/" in done.out for variable in VARIABLES)
    assert te("setup", *INSTALLATIONS).out == ""
    assert everything(user) == untouched
    assert te("setup", "--uninstall").status == 0
    assert everything(tmp_path) == before
    assert list(home.plugins.iterdir()) == []


def test_without_home_the_users_record_tells_where_it_is(
    home: Home, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: str(path).replace("~", str(user), 1))
    before = everything(user)
    assert te("setup").status == 0
    assert all((user / file).exists() for file in FILES.values())
    assert te("setup", "--uninstall").status == 0
    assert everything(user) == before
    assert home.installed.exists()


def test_a_folder_that_is_named_from_the_working_folder_is_the_same_from_elsewhere(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(user)
    monkeypatch.chdir(user.parent)
    assert te("setup", "--agents-home", "user").status == 0
    monkeypatch.chdir(tmp_path)
    assert te("setup", "--agents-home", str(user)).out == ""
    assert te("setup", "--uninstall", "--agents-home", str(user)).status == 0
    assert everything(user) == before


def findings() -> list[dict[str, str]]:
    """What `te doctor` says of the agents."""
    return [one for one in json.loads(te("doctor", "--json").out) if one["check"] == "agents"]


def problems() -> list[str]:
    return [one["words"] for one in findings() if one["level"] == "problem"]


@pytest.mark.parametrize("host", INSTALLATIONS)
def test_doctor_speaks_of_agents_that_are_here_and_of_no_other(home: Home, host: str) -> None:
    (home.root.parent / "user" / FOLDERS[list(INSTALLATIONS).index(host)]).mkdir(parents=True)
    title = INSTALLATIONS[host].TITLE
    assert [title in words for words in problems()] == [True]
    te("setup")
    expected = ["Codex: hooks not trusted: nothing is recorded"] if host == "codex" else []
    assert problems() == expected
    assert all(title in one["words"] for one in findings())


@pytest.mark.usefixtures("user")
def test_doctor_finds_all_five_right_but_for_the_trust_that_codex_waits_for() -> None:
    te("setup")
    assert problems() == ["Codex: hooks not trusted: nothing is recorded"]
    assert sum(one["level"] == "ok" and "loads our" in one["words"] for one in findings()) == len(
        INSTALLATIONS
    )


@pytest.mark.parametrize("host", INSTALLATIONS)
def test_doctor_says_of_a_file_that_cannot_be_read_which_it_is_and_goes_on(user: Path, host: str) -> None:
    te("setup")
    (user / FILES[host]).unlink()
    if host == "pi":
        (user / FILES[host]).mkdir()
    else:
        (user / FILES[host]).write_text("{ = ")
    found = [words for words in problems() if "not trusted" not in words]
    assert [str(user / FILES[host]) in words for words in found] == [True]
    others = [one["words"] for one in findings() if one["level"] == "ok" and "loads our" in one["words"]]
    assert len(others) == len(INSTALLATIONS) - 1


@pytest.mark.parametrize("checkout", [False, True])
def test_doctor_finds_hooks_of_claude_code_that_are_switched_off_or_run_twice(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, checkout: bool
) -> None:
    te("setup", "claude_code")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".claude" / "settings.local.json" if checkout else user / FILES["claude_code"]
    file.parent.mkdir(exist_ok=True)
    settings = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**settings, "disableAllHooks": True}))
    assert any(f"`disableAllHooks` in {file}" in words for words in problems())
    file.write_text(json.dumps({**settings, "hooks": "python /x/hosts/hook/launcher.py"}))
    assert not any("disableAllHooks" in words for words in problems())
    assert any(f"the hooks of ours in {file}" in one["words"] for one in findings())
    file.write_text(json.dumps({"enabledPlugins": {"tokeneconomizer@tokeneconomizer": False}}))
    assert any("switche" in words and "our plugin" in words for words in problems())
