"""`te setup codex`: a copy of the plugin and two tables, taken back byte for byte; what `te doctor` sees."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest
from console_runs import te

from tokeneconomizer.console.checks import Level
from tokeneconomizer.console.installations.codex import Codex
from tokeneconomizer.console.installations.given import hook_words
from tokeneconomizer.hosts.codex import plugin
from tokeneconomizer.hosts.marketplace import PLUGIN

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

OWN = (
    "# mine\r\nmodel = 'm' # the usual one\r\n\r\n[features]\r\nhooks = true\r\n\r\n"
    '[plugins."other@market"]\r\nenabled = false\r\n'
)
OURS = ("marketplaces", "plugins")


@pytest.fixture
def folder(home: Home) -> Path:
    return home.root.parent / "user" / ".codex"


@pytest.fixture
def config(folder: Path) -> Path:
    return folder / "config.toml"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def approve(config: Path, *, keys: list[str] | None = None) -> None:
    """Note that the user trusts the hooks, as Codex does."""
    lines = ["", "[hooks.state]"]
    for key in plugin.hook_keys() if keys is None else keys:
        lines += ["", f"[hooks.state.{json.dumps(key)}]", 'trusted_hash = "sha256:1"']
    with config.open("ab") as file:
        file.write("\n".join([*lines, ""]).encode())


def findings(home: Home, **environment: str) -> list[tuple[Level, str]]:
    codex = Codex(home, home.root.parent / "user", environment)
    return [(finding.level, finding.words) for finding in codex.look_at()]


def test_a_fresh_home_gets_two_tables_the_marketplace_and_codexs_copy(
    home: Home, folder: Path, config: Path
) -> None:
    done = te("setup", "codex")

    assert done.status == 0
    assert tomllib.loads(config.read_text()) == {
        "marketplaces": {
            "tokeneconomizer": {"source_type": "local", "source": str(home.plugins / "codex")},
        },
        "plugins": {"tokeneconomizer@tokeneconomizer": {"enabled": True}},
    }
    copy, original = folder / plugin.COPY, home.plugins / "codex" / PLUGIN
    names = sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(original)) for path in original.rglob("*") if path.is_file())
    assert {(copy / name).read_bytes() == (original / name).read_bytes() for name in names} == {True}
    assert "trust" in done.err


def test_each_hook_is_called_by_its_event_with_a_program_outside_of_the_plugin(folder: Path) -> None:
    te("setup", "codex")
    hooks = json.loads((folder / plugin.COPY / plugin.HOOKS_FILE).read_text())["hooks"]

    assert list(hooks) == list(plugin.EVENTS)
    for event, registrations in hooks.items():
        (command,) = registrations[0]["hooks"]
        assert command["command"].startswith(f"exec {hook_words()[0]} -I -S ")
        assert command["command"].endswith(f"--host codex --event {event} --via plugin")
        assert str(folder) not in command["command"]


def test_the_plugin_brings_skills_that_no_session_is_told_of_unasked(folder: Path) -> None:
    te("setup", "codex")
    skills = folder / plugin.COPY / "skills"

    assert sorted(path.name for path in skills.iterdir()) == ["config", "facts", "prune", "status"]
    for skill in skills.iterdir():
        assert (skill / "SKILL.md").read_text().startswith(f"---\nname: {skill.name}\ndescription: ")
        assert "allow_implicit_invocation: false" in (skill / "agents" / "openai.yaml").read_text()


def test_a_second_run_changes_nothing_and_says_so(config: Path) -> None:
    te("setup", "codex")
    before = config.read_bytes()
    again = te("setup", "codex")

    assert (again.out, config.read_bytes()) == ("", before)
    assert "in place already" in again.err


def test_a_dry_run_writes_nothing(home: Home, folder: Path) -> None:
    done = te("setup", "codex", "--dry-run")

    assert "config.toml" in done.out
    assert not folder.exists()
    assert not (home.plugins / "codex").exists()


@pytest.mark.parametrize("text", [None, "", "model = 'm'", OWN], ids=["none", "empty", "no line end", "own"])
@pytest.mark.parametrize("is_approved", [False, True])
def test_uninstalling_gives_the_configuration_back_byte_for_byte(
    home: Home, folder: Path, config: Path, text: str | None, *, is_approved: bool
) -> None:
    if text is not None:
        write(config, text)
    te("setup", "codex")
    if is_approved:
        approve(config)
    done = te("setup", "codex", "--uninstall")

    assert done.status == 0
    assert (config.read_bytes().decode() if config.exists() else None) == text
    assert [path for path in folder.rglob("*") if path != config] == []
    assert folder.exists() is (text is not None)
    assert not (home.plugins / "codex").exists()


def test_what_the_user_changed_meanwhile_stays(config: Path) -> None:
    write(config, OWN)
    te("setup", "codex")
    others = "other@market:hooks/hooks.json:stop:0:0"
    approve(config, keys=[*plugin.hook_keys(), others])
    te("setup", "codex", "--uninstall")

    left = tomllib.loads(config.read_text())
    assert left == {**tomllib.loads(OWN), "hooks": {"state": {others: {"trusted_hash": "sha256:1"}}}}


def test_without_the_record_our_tables_are_removed_by_their_names(home: Home, config: Path) -> None:
    write(config, OWN)
    te("setup", "codex")
    home.installed.unlink()
    te("setup", "codex", "--uninstall")

    assert config.read_bytes().decode() == OWN


def test_an_older_copy_of_ours_is_replaced_and_has_to_be_trusted_anew(
    home: Home, folder: Path, config: Path
) -> None:
    older = '[marketplaces.tokeneconomizer]\nsource_type = "local"\nsource = "/elsewhere"\n'
    write(config, OWN + older.replace("\n", "\r\n"))
    approve(config)
    stale = folder / plugin.COPY_FOLDER / PLUGIN / "0.9.0" / "hooks" / "hooks.json"
    write(stale, "{}")
    te("setup", "codex")

    value = tomllib.loads(config.read_text())
    assert value["marketplaces"]["tokeneconomizer"]["source"] == str(home.plugins / "codex")
    assert "hooks" not in value
    assert not stale.exists()
    te("setup", "codex", "--uninstall")
    assert config.read_bytes().decode() == OWN


def test_codex_home_is_where_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    te("setup", "codex")

    assert (tmp_path / "elsewhere" / "config.toml").exists()
    assert not folder.exists()


@pytest.mark.parametrize("text", ["not = = toml", "a = 1\na = 2\n"])
def test_a_configuration_that_codex_could_not_read_is_left_as_it_is(
    home: Home, folder: Path, config: Path, text: str
) -> None:
    write(config, text)
    done = te("setup", "codex")

    assert done.status != 0
    assert config.read_text() == text
    assert sorted(folder.iterdir()) == [config]
    assert [level for level, _ in findings(home)] == [Level.PROBLEM]


def test_hooks_that_nobody_trusts_are_told_by_status_and_doctor(home: Home, config: Path) -> None:
    te("setup", "codex")
    assert "hooks not trusted: nothing is recorded" in te("status").out
    assert findings(home) == [
        (Level.OK, "Codex loads our plugin"),
        (Level.PROBLEM, "Codex: hooks not trusted: nothing is recorded"),
    ]
    approve(config)
    assert "not trusted" not in te("status").out
    assert findings(home) == [(Level.OK, "Codex loads our plugin")]


def test_one_hook_that_is_not_trusted_or_switched_off_is_enough(config: Path) -> None:
    te("setup", "codex")
    approve(config, keys=plugin.hook_keys()[:-1])
    assert "not trusted" in te("status").out
    with config.open("a") as file:
        file.write(
            f'\n[hooks.state.{json.dumps(plugin.hook_keys()[-1])}]\ntrusted_hash = "x"\nenabled = false\n'
        )
    assert "not trusted" in te("status").out


def test_a_home_without_codex_is_no_trouble(home: Home) -> None:
    assert findings(home) == []
    assert "Codex" not in te("status").out


def break_it(config: Path, how: str) -> None:
    copy = config.parent / plugin.COPY
    match how:
        case "not registered":
            config.unlink()
        case "switched off":
            config.write_text(config.read_text().replace("enabled = true", "enabled = false"))
        case "is off":
            config.write_text("features.hooks = false\n" + config.read_text())
        case "missing":
            (config.parent / plugin.COPY_FOLDER).rename(config.parent / "away")
        case "differs":
            hooks = copy / plugin.HOOKS_FILE
            hooks.write_text(hooks.read_text().replace(hook_words()[0], "/gone/python"))
        case "were added":
            (copy / "notes.txt").touch()
        case "beside those of our plugin":
            (config.parent / "hooks.json").write_text(json.dumps({"hooks": {"Stop": hook_words()}}))


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ("not registered", Level.PROBLEM),
        ("switched off", Level.PROBLEM),
        ("is off", Level.PROBLEM),
        ("missing", Level.PROBLEM),
        ("differs", Level.PROBLEM),
        ("were added", Level.PROBLEM),
        ("beside those of our plugin", Level.WARNING),
    ],
)
def test_whatever_keeps_codex_from_calling_us_or_calls_us_twice_is_found(
    home: Home, config: Path, words: str, level: Level
) -> None:
    te("setup", "codex")
    approve(config)
    break_it(config, words)

    assert [found for found, said in findings(home) if words in said] == [level]


@pytest.mark.parametrize(
    ("version", "is_told"),
    [
        ("codex-cli 0.171.0", False),
        ("codex-cli 0.164.0", False),
        ("0.172.0", True),
        ("0.99.9", True),
        ("", False),
    ],
)
def test_a_version_that_was_not_measured_is_told(
    home: Home, monkeypatch: pytest.MonkeyPatch, version: str, *, is_told: bool
) -> None:
    monkeypatch.setattr(Codex, "version", lambda _self: version)
    te("setup", "codex")
    told = [said for _, said in findings(home) if "that was tried" in said]

    assert bool(told) is is_told
    assert bool(Codex(home, home.root.parent, {}).notes(version)) is is_told
