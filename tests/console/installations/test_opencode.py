"""opencode's installation: one entry in a list of the user's, kept with all that is around it (S2.10)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.console.checks import Finding, Level
from tokeneconomizer.console.installations.opencode import OpenCode
from tokeneconomizer.hosts.opencode.plugin import PLUGIN_NAME
from tokeneconomizer.writers.errors import WriteRefused

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

COMMENTED = '{\n  // mine\n  "username": "dev", /* too */\n}\n'
COMMENTED_LIST = '{\n  // mine\n  "plugin": ["file:///of-mine.ts",],\n}\n'
PLAIN, WITH_COMMENTS = "opencode.json", "opencode.jsonc"


class Place:
    """A user's home with opencode's folder in it."""

    def __init__(self, home: Home) -> None:
        self.home = home
        home.create()
        self.user = home.root.parent / "user"
        self.folder = self.user / ".config" / "opencode"
        self.entry = (home.plugins / "opencode" / PLUGIN_NAME).as_uri()

    def agent(self) -> OpenCode:
        return OpenCode(self.home, self.user, {})

    def write(self, name: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(text.encode())

    def plugins(self, name: str = PLAIN) -> object:
        return json.loads((self.folder / name).read_text())["plugin"]

    def findings(self) -> list[Finding]:
        return list(self.agent().look_at())


@pytest.fixture
def place(home: Home) -> Place:
    return Place(home)


def test_a_fresh_home_gets_the_file_and_one_entry_and_is_left_as_it_was(place: Place) -> None:
    place.user.mkdir(exist_ok=True)
    report = place.agent().install(dry_run=False)

    file = place.home.plugins / "opencode" / PLUGIN_NAME
    assert report.changed == [str(file), str(place.folder / PLAIN)]
    assert json.loads((place.folder / PLAIN).read_text()) == {
        "$schema": "https://opencode.ai/config.json",
        "plugin": [place.entry],
    }
    assert str(place.home.root) in file.read_text()
    place.agent().uninstall(dry_run=False)
    assert not (place.user / ".config").exists()
    assert not file.parent.exists()


@pytest.mark.parametrize(
    "own",
    [
        '{"plugin":["npm-name@1.2.3", ["other", {"a": 1}]],"model":"x/y"}',
        '{\r\n\t"model": "x/y",   "big": 12345678901234567890,\r\n  "note": "caf\\u00e9"\r\n}',
        '{ "plugin": [] }\n',
    ],
)
def test_what_is_the_users_is_kept_byte_for_byte(place: Place, own: str) -> None:
    place.write(PLAIN, own)
    place.agent().install(dry_run=False)
    once = (place.folder / PLAIN).read_bytes()
    assert place.agent().install(dry_run=False).changed == []
    assert (place.folder / PLAIN).read_bytes() == once
    plugins = place.plugins()
    assert isinstance(plugins, list)
    assert plugins[:-1] == json.loads(own).get("plugin", [])
    place.agent().uninstall(dry_run=False)
    assert (place.folder / PLAIN).read_bytes() == own.encode()


def test_a_dry_run_says_the_same_and_changes_nothing(place: Place) -> None:
    place.write(PLAIN, "{}")
    planned = place.agent().install(dry_run=True).changed
    assert (place.folder / PLAIN).read_text() == "{}"
    assert place.agent().install(dry_run=False).changed == planned
    installed = (place.folder / PLAIN).read_bytes()
    planned = place.agent().uninstall(dry_run=True).changed
    assert (place.folder / PLAIN).read_bytes() == installed
    assert place.agent().uninstall(dry_run=False).changed == planned


@pytest.mark.parametrize("name", [PLAIN, WITH_COMMENTS])
@pytest.mark.parametrize("text", [COMMENTED, COMMENTED_LIST])
def test_comments_stay_and_the_file_is_given_back_byte_for_byte(place: Place, name: str, text: str) -> None:
    place.write(name, text)
    place.agent().install(dry_run=False)
    registered = (place.folder / name).read_text()
    assert place.entry in registered
    assert "// mine" in registered
    place.agent().uninstall(dry_run=False)
    assert {path.name: path.read_text() for path in place.folder.iterdir()} == {name: text}


def test_a_list_that_counts_alone_is_the_one_that_is_added_to(place: Place) -> None:
    place.write(PLAIN, '{"plugin": ["a"]}')
    place.write(WITH_COMMENTS, '{"plugin": ["b"]}')
    place.agent().install(dry_run=False)
    assert (place.plugins(PLAIN), place.plugins(WITH_COMMENTS)) == (["a"], ["b", place.entry])


@pytest.mark.parametrize(
    "files", [{PLAIN: "{"}, {PLAIN: '{"plugin": 1}'}, {PLAIN: COMMENTED, WITH_COMMENTS: '{"plugin": {}}'}]
)
def test_what_could_be_spoilt_is_left_alone(place: Place, files: dict[str, str]) -> None:
    for name, text in files.items():
        place.write(name, text)
    with pytest.raises(WriteRefused):
        place.agent().install(dry_run=False)
    assert {path.name: path.read_text() for path in place.folder.iterdir()} == files


def test_what_the_user_added_by_hand_is_taken_away_by_its_name(place: Place) -> None:
    place.write(WITH_COMMENTS, f'{{\n  // mine\n  "plugin": ["a", "{place.entry}"],\n}}\n')
    assert place.agent().install(dry_run=False).changed == [
        str(place.home.plugins / "opencode" / PLUGIN_NAME)
    ]
    assert Level.PROBLEM not in {finding.level for finding in place.findings()}
    place.agent().uninstall(dry_run=False)
    assert (place.folder / WITH_COMMENTS).read_text() == '{\n  // mine\n  "plugin": ["a"],\n}\n'


def test_an_older_copy_of_ours_is_replaced(place: Place) -> None:
    older = "file:///home/dev/before/plugins/opencode/tokeneconomizer.ts"
    place.write(PLAIN, json.dumps({"plugin": ["a", older]}))
    place.agent().install(dry_run=False)
    assert place.plugins() == ["a", place.entry]


def test_without_its_record_our_entry_is_still_taken_away(place: Place) -> None:
    place.write(PLAIN, '{"model": "x/y"}')
    place.agent().install(dry_run=False)
    place.home.installed.unlink()
    place.agent().uninstall(dry_run=False)
    assert json.loads((place.folder / PLAIN).read_text()) == {"model": "x/y"}


def test_the_folder_of_configurations_is_where_the_environment_says(place: Place, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    OpenCode(place.home, place.user, {"XDG_CONFIG_HOME": str(moved)}).install(dry_run=False)
    assert place.entry in (moved / "opencode" / PLAIN).read_text()


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.18.33", None),
        ("1.18.29", "older than 1.18.33"),
        ("2.0.18", "newer than 1.x"),
        ("", None),
    ],
)
def test_the_notes_tell_of_versions_and_of_the_missing_package(
    place: Place, version: str, words: str | None
) -> None:
    (place.folder / "node_modules" / "@opencode-ai" / "plugin").mkdir(parents=True)
    notes = place.agent().notes(version)
    assert [words in note for note in notes if words] == ([True] if words else [])
    (place.folder / "node_modules" / "@opencode-ai" / "plugin").rmdir()
    assert any("@opencode-ai/plugin" in note for note in place.agent().notes(version))


def levels(place: Place) -> list[tuple[Level, str]]:
    return [(finding.level, finding.words) for finding in place.findings()]


def test_doctor_says_nothing_where_opencode_is_not(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert place.findings() == []


def test_doctor_finds_each_thing_that_keeps_the_plugin_from_working(place: Place) -> None:
    def problems() -> list[str]:
        return [words for level, words in levels(place) if level is Level.PROBLEM]

    place.write(PLAIN, '{"plugin": ["a"]}')
    assert problems() == ["opencode: our plugin is not registered"]
    place.agent().install(dry_run=False)
    assert problems() == []
    place.write(WITH_COMMENTS, COMMENTED_LIST)
    assert "passes over our plugin" in problems()[0]
    (place.folder / WITH_COMMENTS).unlink()
    (place.home.plugins / "opencode" / PLUGIN_NAME).write_text("// of another version")
    assert "another installation" in problems()[0]
    value = json.loads((place.folder / PLAIN).read_text())
    value["plugin"].append("file:///old/plugins/opencode/tokeneconomizer.ts")
    place.write(PLAIN, json.dumps(value))
    assert "loads our plugin twice" in problems()[0]


def test_doctor_warns_of_slow_starts_and_of_what_opencode_could_not_load(place: Place) -> None:
    place.agent().install(dry_run=False)
    warnings = [words for level, words in levels(place) if level is Level.WARNING]
    assert ["has not installed @opencode-ai/plugin" in words for words in warnings] == [True]
    (place.folder / "node_modules" / "@opencode-ai" / "plugin").mkdir(parents=True)
    log = place.user / ".local" / "share" / "opencode" / "log" / "opencode.log"
    log.parent.mkdir(parents=True)
    log.write_text(f'level=ERROR run=1 message="failed to load plugin" path={place.entry} error=boom\n')
    warnings = [words for level, words in levels(place) if level is Level.WARNING]
    assert ["could not load our plugin" in words for words in warnings] == [True]
