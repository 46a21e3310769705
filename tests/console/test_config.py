import json
import os
import stat
from pathlib import Path

import pytest
from console_runs import te

from tokeneconomizer.console import config_file
from tokeneconomizer.domain.errors import BadSetting
from tokeneconomizer.domain.settings import SETTINGS, setting_of
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.lock import held


def stored_policies() -> list[tuple[str, str]]:
    lines = map(json.loads, te("audit", "export").out.splitlines())
    return [(e["data"]["key"], e["data"]["value"]) for e in lines if e["type"] == "setup.policy_set"]


@pytest.mark.usefixtures("home")
def test_list_shows_each_setting_with_its_default_and_source() -> None:
    te("config", "set", "loopguard", "off")
    te("config", "set", "guard.poll_repeats", "20", "--host", "codex")
    shown = te("config", "list").out.splitlines()
    assert shown[0].split() == ["key", "value", "default", "from", "meaning"]
    assert shown[1].split()[:6] == ["loopguard", "off", "on", "config.yaml", "redirect", "a"]
    assert [line.split()[0] for line in shown[1 : len(SETTINGS) + 1]] == [s.key for s in SETTINGS]
    assert shown[-3:] == [
        "set for some only",
        "key                 value  for",
        "guard.poll_repeats  20     host codex",
    ]


@pytest.mark.usefixtures("home")
def test_list_for_programs_holds_what_each_setting_takes() -> None:
    listed = {entry["key"]: entry for entry in json.loads(te("config", "list", "--json").out)}
    assert listed["loopguard"]["choices"] == ["on", "off"]
    assert (listed["guard.span_calls"]["minimum"], listed["guard.span_calls"]["maximum"]) == (2, 200)


@pytest.mark.parametrize(
    ("arguments", "value", "source"),
    [
        ((), "on", "default"),
        (("--host", "codex"), "off", "host codex"),
        (("--host", "pi"), "on", "default"),
    ],
)
@pytest.mark.usefixtures("home")
def test_get_prints_the_value_in_force(arguments: tuple[str, ...], value: str, source: str) -> None:
    te("config", "set", "loopguard", "off", "--host", "codex")
    assert te("config", "get", "loopguard", *arguments).out == f"{value}\n"
    described = json.loads(te("config", "get", "loopguard", *arguments, "--json").out)
    assert (described["value"], described["from"]) == (value, source)


def test_set_writes_the_file_for_its_user_alone_and_stores_the_event(home: Home) -> None:
    done = te("config", "set", "loopguard", "off")
    assert (done.status, done.out, done.err) == (0, "", "loopguard: off (everywhere)\n")
    assert home.config.read_text().splitlines()[-1] == "loopguard: off"
    assert stat.S_IMODE(home.config.stat().st_mode) == 0o600
    assert stored_policies() == [("loopguard", '"off"')]


def test_set_keeps_comments_and_other_lines(home: Home) -> None:
    home.create()
    home.config.write_text("# mine\nguard:\n  span_calls: 9  # short turns\nlang: en\n")
    te("config", "set", "guard.poll_repeats", "20")
    assert home.config.read_text() == (
        "# mine\nguard:\n  span_calls: 9  # short turns\n  poll_repeats: 20\nlang: en\n"
    )


def test_unset_goes_back_to_the_default(home: Home) -> None:
    te("config", "set", "loopguard", "off")
    assert te("config", "set", "loopguard", "--unset").err == "loopguard: removed (everywhere)\n"
    assert "loopguard" not in home.config.read_text()
    assert stored_policies() == [("loopguard", '"off"'), ("loopguard", "null")]


@pytest.mark.usefixtures("home")
def test_setting_the_same_value_again_changes_nothing() -> None:
    te("config", "set", "loopguard", "off")
    assert te("config", "set", "loopguard", "off").err == "loopguard: nothing to change (everywhere)\n"
    assert len(stored_policies()) == 1


def test_a_repository_is_known_by_its_origin_from_any_folder_in_it(home: Home, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:team/project.git\n')
    folder = tmp_path / "deep" / "down"
    folder.mkdir(parents=True)
    te("config", "set", "loopguard", "off", "--repo", str(folder))
    assert "  example.org/team/project:\n    loopguard: off\n" in home.config.read_text()
    assert te("config", "get", "loopguard", "--repo", str(tmp_path)).out == "off\n"
    assert te("config", "get", "loopguard").out == "on\n"


@pytest.mark.usefixtures("home")
def test_a_working_folder_that_is_gone_is_a_known_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = te("config", "list", "--repo", ".")
    assert (done.status, done.out) == (1, "")
    assert done.err == "te: the working folder is gone: go to another one, then try again\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("set", "loopgard", "on"), 1, "there is no setting `loopgard`: did you mean `loopguard`"),
        (("set", "loopguard", "maybe"), 1, "`loopguard` takes `on` or `off`, not `maybe`"),
        (("set", "guard.span_calls", "1"), 1, "takes a whole number from 2 to 200, not `1`"),
        (("set", "lang", "zh", "--repo", "."), 1, "set it without --repo"),
        (("set", "trust", "yes", "--host", "codex"), 1, "set it without --host"),
        (("get", "nothing"), 1, "there is no setting `nothing`"),
        (("set", "loopguard"), 2, "give either a VALUE or --unset"),
        (("set", "loopguard", "on", "--unset"), 2, "give either a VALUE or --unset"),
        (("set", "loopguard", "on", "--host", "codex", "--repo", "."), 2, "give one of --host and --repo"),
        (("set", "loopguard", "on", "--host", "emacs"), 2, "'emacs' is not one of"),
    ],
)
def test_what_cannot_be_set_is_refused_in_words(
    arguments: tuple[str, ...], status: int, words: str, home: Home
) -> None:
    done = te("config", *arguments)
    assert (done.status, done.out) == (status, "")
    assert words in done.err
    assert not home.config.exists()


@pytest.mark.parametrize("text", ["loopguard: [\n", "- a\n- b\n", "nonsense: 1\n", "\xff"])
def test_a_file_that_is_refused_is_left_as_it_is(text: str, home: Home) -> None:
    home.create()
    home.config.write_bytes(text.encode("latin-1"))
    done = te("config", "set", "lang", "en")
    assert done.status == 1
    assert done.err.startswith("te: ")
    assert home.config.read_bytes() == text.encode("latin-1")


def test_a_bad_value_can_be_mended_by_setting_it(home: Home) -> None:
    home.create()
    home.config.write_text("loopguard: maybe\n")
    assert te("config", "set", "loopguard", "on").status == 0
    assert home.config.read_text() == "loopguard: on\n"


def test_a_link_to_the_file_stays_a_link(home: Home, tmp_path: Path) -> None:
    home.create()
    home.config.symlink_to(tmp_path / "dotfiles.yaml")
    te("config", "set", "loopguard", "off")
    assert home.config.is_symlink()
    assert "loopguard: off" in (tmp_path / "dotfiles.yaml").read_text()


def test_a_change_by_another_program_meanwhile_is_not_lost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.create()
    sync = os.fsync

    def edit_meanwhile(descriptor: int) -> None:
        home.config.write_text("lang: zh\n")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", edit_meanwhile)
    with pytest.raises(BadSetting, match="changed by another program"):
        config_file.assign(home, setting_of("loopguard"), "off", config_file.Layer())
    assert home.config.read_text() == "lang: zh\n"


def test_a_daemon_that_does_not_answer_delays_the_event_alone(home: Home) -> None:
    home.create()
    with held(home.lock):
        done = te("config", "set", "loopguard", "off")
    assert done.status == 0
    assert "its event is not stored yet: the daemon does not answer now" in done.err
    assert "loopguard: off" in home.config.read_text()
