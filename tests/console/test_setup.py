"""`te setup`: installs by two entries of the user's settings, and takes back exactly these (S2.10)."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from console_runs import te

from tokeneconomizer.hosts.claude_code.plugin import EVENTS
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

OWN_SETTINGS = (
    '{\r\n\t"model": "sonnet",   "big": 12345678901234567890,\r\n'
    '  "enabledPlugins": { "other@market": false },\r\n  "note": "caf\\u00e9 \\/ ok"\r\n}'
)


@pytest.fixture
def settings(home: Home) -> Path:
    return home.root.parent / "user" / ".claude" / "settings.json"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def setup_events(home: Home) -> list[EventRow]:
    return [
        row
        for row in EventLog(home.events).entries(0)
        if isinstance(row, EventRow) and row.topic == "setup.changed"
    ]


def test_a_fresh_home_gets_two_entries_and_the_plugin_folder(home: Home, settings: Path) -> None:
    done = te("setup", "claude_code")

    assert done.status == 0
    assert json.loads(settings.read_text()) == {
        "extraKnownMarketplaces": {
            "tokeneconomizer": {"source": {"source": "directory", "path": str(home.plugins / "claude_code")}}
        },
        "enabledPlugins": {"tokeneconomizer@tokeneconomizer": True},
    }
    hooks = json.loads((home.plugins / "claude_code/tokeneconomizer/hooks/hooks.json").read_text())["hooks"]
    assert tuple(hooks) == EVENTS
    assert str(settings) in done.out


def test_what_was_done_is_stored_as_an_event(home: Home, settings: Path) -> None:
    te("setup", "claude_code")
    te("setup", "claude_code", "--uninstall")

    assert [row.data["action"] for row in setup_events(home)] == ["install", "uninstall"]
    assert str(settings) in setup_events(home)[0].data["files"]


def test_a_second_run_changes_nothing_and_says_so(home: Home, settings: Path) -> None:
    te("setup", "claude_code")
    before = settings.read_bytes()
    again = te("setup", "claude_code")

    assert again.out == ""
    assert "in place already" in again.err
    assert settings.read_bytes() == before
    assert len(setup_events(home)) == 1


@pytest.mark.parametrize("text", [None, "{}", "{ }\n", OWN_SETTINGS], ids=["none", "empty", "blank", "own"])
def test_uninstalling_gives_the_settings_back_byte_for_byte(
    home: Home, settings: Path, text: str | None
) -> None:
    if text is not None:
        write(settings, text)
    te("setup", "claude_code")
    done = te("setup", "claude_code", "--uninstall")

    assert done.status == 0
    assert (settings.read_bytes().decode() if settings.exists() else None) == text
    assert settings.parent.exists() is (text is not None)
    assert not (home.plugins / "claude_code").exists()


def test_what_the_user_changed_meanwhile_stays(settings: Path) -> None:
    write(settings, OWN_SETTINGS)
    te("setup", "claude_code")
    changed = json.loads(settings.read_text())
    changed["theme"] = "dark"
    write(settings, json.dumps(changed))
    te("setup", "claude_code", "--uninstall")

    assert json.loads(settings.read_text()) == {**json.loads(OWN_SETTINGS), "theme": "dark"}


def test_without_the_record_our_entries_are_removed_by_their_names(home: Home, settings: Path) -> None:
    write(settings, '{"model": "sonnet"}')
    te("setup", "claude_code")
    home.installed.unlink()
    te("setup", "claude_code", "--uninstall")

    assert json.loads(settings.read_text()) == {"model": "sonnet"}


def test_our_name_is_removed_where_the_agent_wrote_it_by_itself(settings: Path) -> None:
    folder = settings.parent
    ours, others = "tokeneconomizer@tokeneconomizer", "other@market"
    files = {
        folder / "plugins/known_marketplaces.json": ({"tokeneconomizer": {}, "market": {}}, {"market": {}}),
        folder / "plugins/installed_plugins.json": (
            {"version": 2, "plugins": {ours: [], others: []}},
            {"version": 2, "plugins": {others: []}},
        ),
        folder.parent / ".claude.json": (
            {"numStartups": 3, "pluginUsage": {ours: {"count": 1}}},
            {"numStartups": 3, "pluginUsage": {}},
        ),
    }
    te("setup", "claude_code")
    for path, (content, _) in files.items():
        write(path, json.dumps(content))
    data = folder / "plugins/data/tokeneconomizer-tokeneconomizer"
    data.mkdir(parents=True)
    te("setup", "claude_code", "--uninstall")

    assert {path: json.loads(path.read_text()) for path in files} == {
        path: rest for path, (_, rest) in files.items()
    }
    assert not data.exists()


def test_a_dry_run_says_what_would_change_and_changes_nothing(home: Home, settings: Path) -> None:
    done = te("setup", "claude_code", "--dry-run")

    assert f"would change  {settings}" in done.out
    assert not settings.exists()
    assert not (home.plugins / "claude_code").exists()
    assert setup_events(home) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, // note\n}', "correct the file"),
        ('{"a": 1, "a": 2}', "correct the file"),
        ("[]", "correct"),
    ],
)
def test_settings_that_the_agent_could_not_read_are_left_alone(settings: Path, text: str, words: str) -> None:
    write(settings, text)
    done = te("setup", "claude_code")

    assert done.status == 1
    assert words in done.err
    assert settings.read_text() == text


def test_settings_behind_a_link_that_leads_out_of_the_home_are_left_alone(
    settings: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "settings.json"
    outside.write_text("{}")
    settings.parent.mkdir(parents=True)
    settings.symlink_to(outside)
    done = te("setup", "claude_code")

    assert done.status == 1
    assert "link" in done.err
    assert outside.read_text() == "{}"


def test_the_folder_that_claude_config_dir_names_is_used(
    home: Home, settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    te("setup", "claude_code")

    assert (tmp_path / "elsewhere" / "settings.json").exists()
    assert not settings.exists()
    assert home.installed.exists()


def test_the_plugin_files_hang_on_the_hooks_command_alone(home: Home) -> None:
    te("setup", "claude_code")
    folder = home.plugins / "claude_code"
    first = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    te("setup", "claude_code", "--uninstall")
    te("setup", "claude_code")

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == first


def test_the_printed_hook_command_answers_a_payload(home: Home) -> None:
    line = te("setup", "claude_code", "--print-hook").out.strip()
    home.create()
    (home.root / "daemon.starting").mkdir()  # so that no daemon is started
    done = subprocess.run(line, shell=True, input=b'{"session_id": "s"}', capture_output=True, check=True)  # noqa: S602 - it is a shell line

    assert (done.stdout, done.stderr) == (b"{}", b"")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("emacs",), 2, "there is no agent `emacs`"),
        (("--print-hook",), 2, "exactly one HOST"),
        ((), 1, "no agent was found"),
    ],
)
def test_what_cannot_be_done_is_said_in_words(
    home: Home, arguments: tuple[str, ...], status: int, words: str
) -> None:
    done = te("setup", *arguments)

    assert done.status == status
    assert words in done.err
    assert not home.installed.exists()


def test_json_names_the_changed_files(settings: Path) -> None:
    done = te("setup", "claude_code", "--json")

    value = json.loads(done.out)
    (agent,) = value["agents"]
    assert agent["host"] == "claude_code"
    assert agent["refused"] == ""
    assert str(settings) in value["changed"]
