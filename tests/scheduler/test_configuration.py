from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workbench import REPOSITORY, capturing_log

from tokeneconomizer.domain.errors import BadSetting
from tokeneconomizer.domain.settings import SETTINGS, Configuration, Setting, setting_of
from tokeneconomizer.scheduler import configuration
from tokeneconomizer.scheduler.live_configuration import LiveConfiguration

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.domain.settings import Value

WRITTEN_BY_HAND = """\
# my settings
lang: zh   # the team reads it
loopguard: "on"

hosts:
  claude_code:
    # quieter here
    loopguard: off
repositories:
  example.org/team/project:
    guard.failed_repeats: 5
    judge: auto
guard:
  span_calls: 20
"""


def changed(text: str, key: str, value: Value | None, *, host: str = "", repository: str = "") -> str:
    return configuration.changed(text, setting_of(key), value, host=host, repository=repository)


def values_of(setting: Setting) -> st.SearchStrategy[Value]:
    if setting.choices:
        return st.sampled_from(setting.choices)
    if setting.is_names:
        return st.sampled_from(["Agent", "Agent,mcp__lab__alpha"])
    return st.integers(setting.minimum, setting.maximum)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Setting, Value | None, str, str]:
    """A setting, the value or None to remove it, the host or none, the repository or none."""
    setting = draw(st.sampled_from(SETTINGS))
    value = draw(st.none() | values_of(setting))
    host = draw(st.sampled_from(["", "claude_code", "codex"])) if setting.per_host else ""
    names = ["", REPOSITORY, "path:/home/dev/a: b #c", "on", "7", "- x", "{}", "ü"]
    repository = draw(st.sampled_from(names)) if setting.per_repository and not host else ""
    return setting, value, host, repository


@given(st.sampled_from(["", "# only a comment\n", WRITTEN_BY_HAND]), st.lists(changes(), max_size=8))
@settings(max_examples=60, deadline=None)
def test_what_was_set_is_read_back_and_the_rest_stays(
    text: str, steps: list[tuple[Setting, Value | None, str, str]]
) -> None:
    start = configuration.parse(text)
    model = {
        ("", ""): dict(start.everywhere),
        **{(name, ""): dict(values) for name, values in start.hosts.items()},
        **{("", name): dict(values) for name, values in start.repositories.items()},
    }
    for setting, value, host, repository in steps:
        text = configuration.changed(text, setting, value, host=host, repository=repository)
        layer = model.setdefault((host, repository), {})
        layer.pop(setting.key, None)
        if value is not None:
            layer[setting.key] = value
    read = configuration.parse(text)

    assert dict(read.everywhere) == model.pop(("", ""))
    for (host, repository), layer in model.items():
        assert dict(read.hosts.get(host, {}) if host else read.repositories.get(repository, {})) == layer


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("loopguard", "off", {}),
        ("lang", "en", {}),
        ("echo_stop_hint", "never", {}),
        ("guard.span_calls", 30, {}),
        ("guard.poll_repeats", 30, {}),
        ("loopguard", "on", {"host": "claude_code"}),
        ("judge", None, {"repository": REPOSITORY}),
        ("guard.failed_repeats", None, {"repository": REPOSITORY}),
        ("loopguard", "off", {"repository": "example.org/another"}),
    ],
)
def test_a_change_keeps_comments_order_and_all_other_lines(
    key: str, value: Value | None, where: dict[str, str]
) -> None:
    new = changed(WRITTEN_BY_HAND, key, value, **where).splitlines()
    old = WRITTEN_BY_HAND.splitlines()

    difference = [line for line in difflib.ndiff(old, new) if line[0] in "+-"]
    assert len(difference) <= 2
    assert "# my settings" in new
    assert "    # quieter here" in new


def test_a_first_setting_makes_a_file_that_explains_itself() -> None:
    assert changed("", "loopguard", "off") == configuration.HEADER + "loopguard: off\n"


@pytest.mark.parametrize("text", ["# mine\n", "\n# mine\n# and mine\n\n", configuration.HEADER])
def test_a_file_of_comments_alone_keeps_them(text: str) -> None:
    new = changed(text, "loopguard", "off")
    again = changed(new, "loopguard", None)

    assert [line for line in text.splitlines() if line] == [
        line for line in new.splitlines() if line.startswith("#")
    ]
    assert new.splitlines()[-1] == "loopguard: off"
    assert [line for line in again.splitlines() if line.startswith("#")] == [
        line for line in text.splitlines() if line
    ]
    assert configuration.parse(again) == Configuration()


@pytest.mark.parametrize(
    ("text", "key", "left"),
    [
        ("# why\nloopguard: off # because\n", "loopguard", "# why\n"),
        ("loopguard: off\n# of the next\nlang: en\n", "loopguard", "# of the next\nlang: en\n"),
        ("lang: en\nloopguard: off\n# end\n", "loopguard", "lang: en\n# end\n"),
        ("guard:\n    # deep\n    span_calls: 20\n", "guard.span_calls", "    # deep\n"),
        ("guard.span_calls: 20\nlang: en\n", "guard.span_calls", "lang: en\n"),
        ("loopguard:\n  off\nlang: en\n", "loopguard", "lang: en\n"),
        ("# why\nloopguard:\n  off\n", "loopguard", "# why\n"),
        ("{loopguard: off, lang: en}\n", "loopguard", "{lang: en}\n"),
        ("{loopguard: off}\n", "loopguard", ""),
        ("lang: en\n", "loopguard", "lang: en\n"),
    ],
)
def test_removing_a_value_takes_its_own_lines_alone(text: str, key: str, left: str) -> None:
    assert changed(text, key, None) == left


def test_removing_what_is_not_set_changes_nothing() -> None:
    assert changed(WRITTEN_BY_HAND, "judge", None, repository="example.org/another") == WRITTEN_BY_HAND
    assert changed(WRITTEN_BY_HAND, "judge", None, host="claude_code") == WRITTEN_BY_HAND


def test_groups_stay_indented_as_they_are() -> None:
    text = "# a\nhosts:\n    codex:\n        # b\n        judge: off\n"

    assert changed(text, "loopguard", "on", host="codex") == text + "        loopguard: on\n"


@pytest.mark.parametrize("text", ["loopguard: on", "loopguard: 'on'", 'loopguard: "on"', "{loopguard: on}"])
def test_on_and_off_are_words_however_they_are_quoted(text: str) -> None:
    assert configuration.parse(text).get("loopguard") == "on"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("loopguard: maybe", "`loopguard` takes `on` or `off`, not `maybe`"),
        ("loopguard: true", "not `true`"),
        ("loopguard:", "not `None`"),
        ("loopgard: on", "there is no setting `loopgard`: did you mean `loopguard`"),
        ("guard: {failed_repeats: 1}", "a whole number from 2 to 200, not `1`"),
        ("guard.failed_repeats: 2.5", "not `2.5`"),
        ("guard.failed_repeats: [3]", "a whole number"),
        ("guard: {deep: {er: 3}}", "there is no setting `guard.deep`"),
        ("guard: 3", "there is no setting `guard`"),
        ("7: 8", "there is no setting `7`"),
        ("loopguard: on\nloopguard: off", "no valid YAML"),
        ("guard.span_calls: 9\nguard: {span_calls: 9}", "`guard.span_calls` is set twice"),
        ("loopguard: [on", "no valid YAML"),
        ("\tloopguard: on", "no valid YAML"),
        ("a: *nowhere", "no valid YAML"),
        ("loopguard: on\0", "no valid YAML"),
        ("[" * 400, "no valid YAML"),
        ("when: 2026-99-99", "no valid YAML|no setting"),
        ("- loopguard", "must hold `key: value` lines"),
        ("just words", "must hold `key: value` lines"),
        ("hosts: [claude_code]", "`hosts` in config.yaml must hold one group"),
        ("hosts: {claude_code: on}", "must hold one group"),
        ("repositories: on", "`repositories` in config.yaml must hold one group"),
        ("repositories: {a: {lang: en}}", "`lang` holds for all repositories"),
        ("hosts: {claude_code: {trust: yes}}", "`trust` holds for all agents"),
    ],
)
def test_a_file_that_says_something_else_is_refused_in_words(text: str, reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        configuration.parse(text)


@given(
    st.text(st.characters(codec="utf-8"), max_size=60)
    | st.text(alphabet="ab:-[]{}\"'#&*!|>%@ \n\t0", max_size=40)
)
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_configuration_or_refused(text: str) -> None:
    try:
        configuration.parse(text)
    except BadSetting:
        return


@pytest.mark.parametrize(
    ("text", "reason"),
    [("hosts: on\n", "key: value"), ("- x\n", "key: value"), ("guard: 3\n", "key: value")],
)
def test_a_change_to_such_a_file_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        changed(text, "guard.failed_repeats", 3, host="codex" if "hosts" in text else "")


@pytest.mark.parametrize(
    ("key", "where", "reason"),
    [("lang", {"repository": "a"}, "without --repo"), ("trust", {"host": "codex"}, "without --host")],
)
def test_a_setting_for_everything_is_refused_for_a_part(key: str, where: dict[str, str], reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        changed("", key, None, **where)


def test_the_narrowest_value_holds() -> None:
    read = configuration.parse(
        "guard: {failed_repeats: 5, poll_repeats: 20}\n"
        "hosts: {claude_code: {guard.failed_repeats: 6, guard: {span_calls: 30}}}\n"
        "repositories: {a: {guard: {failed_repeats: 7}}}\n"
    )

    assert read.get("guard.failed_repeats") == 5
    assert read.get("guard.failed_repeats", host="claude_code") == 6
    assert read.get("guard.failed_repeats", host="claude_code", repository="a") == 7
    limits = read.limits(host="claude_code", repository="a")
    assert (limits.failed_repeats, limits.poll_repeats, limits.span_calls) == (7, 20, 30)
    assert read.get("guard.signature_repeats") == setting_of("guard.signature_repeats").default


def test_policies_are_every_setting_of_every_layer_as_json() -> None:
    read = configuration.parse(WRITTEN_BY_HAND)
    policies = {
        (host, repository, key): value for host, key, value, repository in configuration.policies(read)
    }

    assert len(policies) == 3 * len(SETTINGS)
    assert {name: value for name, value in policies.items() if value != "null"} == {
        ("*", "", "lang"): '"zh"',
        ("*", "", "loopguard"): '"on"',
        ("*", "", "guard.span_calls"): "20",
        ("claude_code", "", "loopguard"): '"off"',
        ("*", REPOSITORY, "guard.failed_repeats"): "5",
        ("*", REPOSITORY, "judge"): '"auto"',
    }


def test_a_file_that_is_not_there_sets_nothing_and_one_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"lang: \xe9")

    assert configuration.read(tmp_path / "absent.yaml") == Configuration()
    for path in (tmp_path, tmp_path / "latin.yaml"):
        with pytest.raises(BadSetting, match=r"cannot be read .*: mend the file"):
            configuration.read(path)


class Following:
    """A live configuration whose file gets a new time with each change, however fast they come."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "config.yaml"
        self.log, self.captured = capturing_log()
        self.live = LiveConfiguration(self.path, self.log)
        self.writes = 0

    def write(self, text: str) -> None:
        self.writes += 1
        self.path.write_text(text)
        os.utime(self.path, (self.writes, self.writes))

    @property
    def guard(self) -> object:
        return self.live().get("loopguard")


def test_a_changed_file_holds_from_the_next_look_on(tmp_path: Path) -> None:
    following = Following(tmp_path)
    seen = [following.guard]
    for text in ("loopguard: off\n", "loopguard: on\n", "# nothing\n"):
        following.write(text)
        seen.append(following.guard)
    following.write("loopguard: off\n")
    seen.append(following.guard)
    following.path.unlink()
    seen.append(following.guard)

    assert seen == ["on", "off", "on", "on", "off", "on"]


def test_while_the_file_is_broken_the_last_good_one_holds_and_the_log_says_so_once(tmp_path: Path) -> None:
    following = Following(tmp_path)
    following.write("loopguard: off\n")
    seen = [following.guard]
    following.write("loopguard: [off\n")
    seen += [following.guard, following.guard]
    problem = following.live.problem
    following.write("loopguard: on\n")
    seen.append(following.guard)

    assert seen == ["off", "off", "off", "on"]
    assert "no valid YAML" in problem
    assert following.live.problem == ""
    assert [entry["event"] for entry in following.captured.entries] == ["configuration kept as it was"]


def test_a_file_that_did_not_change_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = Following(tmp_path)
    following.write("loopguard: off\n")
    before = following.guard
    monkeypatch.setattr(configuration, "read", lambda _path: pytest.fail("read again"))

    assert [before, following.guard] == ["off", "off"]
