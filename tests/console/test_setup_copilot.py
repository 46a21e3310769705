"""`te setup copilot`, and what `te doctor` finds of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console_runs import te

from tokeneconomizer.console.checks import Finding, Level
from tokeneconomizer.console.installations.copilot import Copilot
from tokeneconomizer.hosts.copilot.plugin import EVENTS

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

COMMENTED = """// mine
{
  "theme": "dark", // keep
  "hooks": { "sessionStart": [ { "type": "command", "bash": "true" } ] },
  /* of the team */
  "enabledPlugins": { "other@market": false, },
}
"""
REGISTERED = '{"enabledPlugins": {"tokeneconomizer@tokeneconomizer": true}}'
CONFIG = """// This file is managed automatically.
{
  "trustedFolders": ["/p"],
  "installedPlugins": [%s]
}
"""


@pytest.fixture(autouse=True)
def no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`te doctor` looks at the folder in which it is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(home: Home) -> Path:
    return home.root.parent / "user" / ".copilot"


@pytest.fixture
def settings(folder: Path) -> Path:
    return folder / "settings.json"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def copy_of_ours(folder: Path) -> Path:
    """What `copilot plugin install DIR` leaves."""
    copied = folder / "installed-plugins" / "_direct" / "tokeneconomizer"
    write(copied / "hooks" / "copilot.json", "{}")
    entries = [
        {"name": "tokeneconomizer", "marketplace": "", "cache_path": str(copied), "enabled": True},
        {"name": "other", "marketplace": "", "cache_path": str(copied.parent / "other"), "enabled": True},
    ]
    write(folder / "config.json", CONFIG % ", ".join(json.dumps(entry) for entry in entries))
    return copied


def test_a_fresh_home_gets_two_entries_and_the_plugin_folder(home: Home, settings: Path) -> None:
    done = te("setup", "copilot")

    assert done.status == 0
    assert json.loads(settings.read_text()) == {
        "extraKnownMarketplaces": {
            "tokeneconomizer": {"source": {"source": "directory", "path": str(home.plugins / "copilot")}}
        },
        "enabledPlugins": {"tokeneconomizer@tokeneconomizer": True},
    }
    hooks = json.loads((home.plugins / "copilot/tokeneconomizer/hooks/copilot.json").read_text())["hooks"]
    assert tuple(hooks) == EVENTS
    assert str(settings) in done.out


def test_a_second_run_changes_nothing_and_says_so(settings: Path) -> None:
    write(settings, COMMENTED)
    te("setup", "copilot")
    before = settings.read_bytes()
    again = te("setup", "copilot")

    assert again.out == ""
    assert "in place already" in again.err
    assert settings.read_bytes() == before


def test_comments_and_all_that_is_the_users_stay(settings: Path) -> None:
    write(settings, COMMENTED)
    te("setup", "copilot")
    text = settings.read_text()

    assert all(part in text for part in ("// mine", "// keep", "/* of the team */", '"bash": "true"'))
    assert '"tokeneconomizer@tokeneconomizer": true' in text


@pytest.mark.parametrize("text", [None, "{}", "{ }\n", COMMENTED], ids=["none", "empty", "blank", "comments"])
def test_uninstalling_gives_the_settings_back_byte_for_byte(
    home: Home, folder: Path, settings: Path, text: str | None
) -> None:
    if text is not None:
        write(settings, text)
    te("setup", "copilot")
    (folder / "plugin-data" / "tokeneconomizer" / "tokeneconomizer").mkdir(parents=True)
    done = te("setup", "copilot", "--uninstall")

    assert done.status == 0
    assert (settings.read_bytes().decode() if settings.exists() else None) == text
    assert not (folder / "plugin-data").exists()
    assert not (home.plugins / "copilot").exists()


def test_what_the_user_changed_meanwhile_stays(settings: Path) -> None:
    write(settings, COMMENTED)
    te("setup", "copilot")
    write(settings, settings.read_text().replace("dark", "light"))
    te("setup", "copilot", "--uninstall")

    assert settings.read_text() == COMMENTED.replace("dark", "light")


def test_without_the_record_our_entries_are_removed_by_their_names(home: Home, settings: Path) -> None:
    write(settings, '{"theme": "dark"}')
    te("setup", "copilot")
    home.installed.unlink()
    te("setup", "copilot", "--uninstall")

    assert json.loads(settings.read_text()) == {"theme": "dark"}


@pytest.mark.parametrize("uninstall", [False, True])
def test_a_copy_of_our_plugin_that_was_installed_directly_is_removed(folder: Path, uninstall: bool) -> None:
    copied = copy_of_ours(folder)
    other = copied.parent / "other" / "hooks.json"
    write(other, "{}")
    done = te("setup", "copilot", *(["--uninstall"] if uninstall else []))

    assert done.status == 0
    assert not copied.exists()
    assert other.exists()
    text = (folder / "config.json").read_text()
    assert text.startswith("// This file is managed automatically.\n")
    assert '"name": "other"' in text
    assert "tokeneconomizer" not in text


def test_nothing_outside_of_the_folder_of_copies_is_removed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.mkdir()
    entry = {"name": "tokeneconomizer", "marketplace": "", "cache_path": str(outside)}
    write(folder / "config.json", CONFIG % json.dumps(entry))
    te("setup", "copilot")

    assert outside.exists()
    assert "tokeneconomizer" not in (folder / "config.json").read_text()


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    home: Home, folder: Path, settings: Path
) -> None:
    copied = copy_of_ours(folder)
    done = te("setup", "copilot", "--dry-run")

    assert f"would change  {settings}" in done.out
    assert str(copied) in done.out
    assert not settings.exists()
    assert copied.exists()
    assert not (home.plugins / "copilot").exists()


@pytest.mark.parametrize("text", ['{"a": 1', '{"a": 1, "a": 2}', "[]", '{"enabledPlugins": []}'])
def test_settings_that_could_be_spoilt_are_left_alone(settings: Path, text: str) -> None:
    write(settings, text)
    done = te("setup", "copilot")

    assert done.status == 1
    assert settings.read_text() == text


def test_the_folder_that_copilot_home_names_is_used(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "elsewhere"))
    te("setup", "copilot")

    assert (tmp_path / "elsewhere" / "settings.json").exists()
    assert not settings.exists()


def findings(home: Home) -> list[Finding]:
    return list(Copilot(home, home.root.parent / "user", {}).look_at())


def in_words(found: list[Finding]) -> str:
    return "\n".join(finding.words for finding in found)


def test_a_right_installation_is_found_right_and_an_absent_agent_is_not_looked_at(home: Home) -> None:
    assert findings(home) == []
    te("setup", "copilot")
    assert [finding.level for finding in findings(home)] == [Level.OK]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "are not registered"),
        ('{"enabledPlugins": {"tokeneconomizer@tokeneconomizer": false}}', "switched off"),
        ("[]", "cannot be read"),
        (REGISTERED, "is missing"),
    ],
)
def test_what_keeps_our_hooks_from_running_is_found(
    home: Home, settings: Path, text: str, words: str
) -> None:
    write(settings, text)
    (finding,) = findings(home)
    assert finding.level is Level.PROBLEM
    assert words in finding.words


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        (".github/copilot/settings.local.json", '{"disableAllHooks": true}', "stops all hooks"),
        (".claude/settings.json", '{"disableAllHooks": true}', "stops all hooks"),
        (".claude/settings.json", '{"hooks": "python -I -S /x/hosts/hook/launcher.py"}', "beside those"),
        (".github/hooks/deep/a.json", '{"hooks": "/x/hosts/hook/launcher.py"}', "beside those"),
    ],
)
def test_what_a_checkout_does_to_our_hooks_is_found(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, content: str, words: str
) -> None:
    te("setup", "copilot")
    checkout = tmp_path / "checkout"
    write(checkout / file, content)
    monkeypatch.chdir(checkout)

    assert words in in_words(findings(home)[1:])
    assert str(checkout / file) in in_words(findings(home)[1:])


@pytest.mark.parametrize("trusted", [False, True])
def test_a_checkout_that_is_not_trusted_is_found(
    home: Home, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    te("setup", "copilot")
    checkout = tmp_path.resolve() / "checkout"
    (checkout / ".git").mkdir(parents=True)
    named = json.dumps([str(checkout.parent)] if trusted else [])
    write(folder / "config.json", f'// of the user\n{{"trustedFolders": {named}}}')
    monkeypatch.chdir(checkout)

    assert ("is not trusted" in in_words(findings(home))) is not trusted


def test_hooks_that_run_twice_are_found(home: Home, folder: Path) -> None:
    te("setup", "copilot")
    copied = copy_of_ours(folder)
    write(folder / "hooks" / "old.json", '{"hooks": "/x/hosts/hook/launcher.py"}')

    _, twice, beside = findings(home)
    assert str(copied) in twice.words
    assert "old.json" in beside.words


def test_a_version_that_was_not_measured_is_found(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "copilot"
    write(program, "#!/bin/sh\necho 'GitHub Copilot CLI 1.0.200.'\necho 'Run copilot update'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    te("setup", "copilot")

    assert "Copilot CLI 1.0.200 is newer than 1.0.102" in in_words(findings(home))
