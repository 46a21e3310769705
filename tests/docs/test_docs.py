import re
from collections.abc import Iterator
from importlib import import_module
from inspect import get_annotations, getdoc
from pathlib import Path

import click
import pytest
from eventsourcing.domain import Aggregate

from tokeneconomizer.console.main import te
from tokeneconomizer.domain.settings import SETTINGS, Setting

DOCS = Path(__file__).resolve().parents[2] / "docs"

EVENT_MODULES = ("session_events", "usage", "microskills", "tool_prune", "setup")


def events() -> dict[str, type[Aggregate.Event]]:
    found = {}
    for name in EVENT_MODULES:
        for value in vars(import_module(f"tokeneconomizer.domain.{name}")).values():
            if isinstance(value, type) and issubclass(value, Aggregate.Event) and "TOPIC" in vars(value):
                found[str(vars(value)["TOPIC"])] = value
    return found


def commands(
    group: click.Group = te, path: tuple[str, ...] = ("te",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Return every command below a group with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def sections() -> dict[str, tuple[str, str]]:
    """Return what docs/commands.md says of each command: its arguments in the heading, and the text below."""
    parts = re.split(r"^#{2,3} `([^`]+)`$", (DOCS / "commands.md").read_text(), flags=re.MULTILINE)
    found = {}
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        words = re.match(r"[a-z -]*[a-z]", heading)
        assert words is not None
        found[words[0]] = (heading.removeprefix(words[0]), text)
    return found


def rows_of(page: str) -> dict[str, list[str]]:
    """Return the table rows of a page by the name in their first cell."""
    rows = {}
    for line in (DOCS / page).read_text().splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            rows[cells[0].strip("`")] = cells[1:]
    return rows


@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=" ".join)
def test_every_command_is_described_with_its_options_and_arguments(path: tuple[str, ...]) -> None:
    command = dict(commands())[path]
    arguments, text = sections()[" ".join(path)]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert all(f"`{option}" in text for option in parameter.opts)
        else:
            assert str(parameter.name).rstrip("s").upper() in arguments


def test_no_command_is_described_that_does_not_exist() -> None:
    existing = {" ".join(path) for path, _ in commands()}
    assert set(sections()) == existing


@pytest.mark.parametrize("status", ["0", "1", "2", "3", "130"])
def test_every_exit_status_is_described(status: str) -> None:
    assert f"\n| {status} | " in (DOCS / "commands.md").read_text()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_is_described_with_default_and_meaning(setting: Setting) -> None:
    takes, default, where, meaning = rows_of("configuration.md")[setting.key]
    wanted = setting.choices or (str(setting.minimum), str(setting.maximum))
    if setting.is_names:
        wanted = ("names",)
    assert re.findall(r"\w+", takes.replace(" to ", " ")) == list(wanted)
    assert default == f"`{setting.default}`"
    assert ("--repo" in where, "--host" in where) == (setting.per_repository, setting.per_host)
    assert meaning == setting.meaning


def test_no_setting_is_described_that_does_not_exist() -> None:
    dotted = {name for name in rows_of("configuration.md") if name.islower()}
    assert dotted == {setting.key for setting in SETTINGS}


@pytest.mark.parametrize("topic", events())
def test_every_event_is_described_with_its_meaning_and_fields(topic: str) -> None:
    event = events()[topic]
    meaning, fields = rows_of("events.md")[topic]
    assert meaning == (getdoc(event) or "").partition("\n")[0]
    assert re.findall(r"`(\w+)`", fields) == list(get_annotations(event))


def test_no_event_is_described_that_does_not_exist() -> None:
    assert set(rows_of("events.md")) == set(events())
