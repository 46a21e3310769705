"""`te config`: the settings in force, where each comes from, and how to change one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.config_file import Layer, announce, assign
from tokeneconomizer.console.state import configuration_in_force, place_of_folder
from tokeneconomizer.domain.settings import SETTINGS, Configuration, setting_of
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokeneconomizer.domain.settings import Setting, Value


def _layer_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--host", type=click.Choice(HOST_NAMES), help="For one agent."),
        click.option(
            "--repo",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="For the repository of this folder.",
        ),
    ):
        function = option(function)
    return function


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")


@click.group(name="config")
def command() -> None:
    """Show and change the settings."""


@command.command(name="list")
@_layer_options
@json_option
def list_command(repo: Path | None, host: str | None, *, as_json: bool) -> None:
    """List all settings: value, default, where it comes from, meaning."""
    configuration, layer = configuration_in_force(), _layer(repo, host)
    described = [_described(setting, configuration, layer) for setting in SETTINGS]
    if as_json:
        output.print_json(described)
        return
    output.print_data(
        output.Table(
            "",
            ("key", "value", "default", "from", "meaning"),
            [_row(setting, configuration, layer) for setting in SETTINGS],
        ),
        *_narrower(configuration),
    )


@command.command(name="get")
@click.argument("key")
@_layer_options
@json_option
def get_command(key: str, repo: Path | None, host: str | None, *, as_json: bool) -> None:
    """Print the value in force of one setting."""
    setting = setting_of(key)
    described = _described(setting, configuration_in_force(), _layer(repo, host))
    if as_json:
        output.print_json(described)
    else:
        click.echo(str(described["value"]))


@command.command(name="set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Remove the value, so that the wider one or the default holds.")
@_layer_options
def set_command(key: str, value: str | None, repo: Path | None, host: str | None, *, unset: bool) -> None:
    """Set one setting, everywhere or for one agent or repository."""
    if unset == (value is not None):
        message = "give either a VALUE or --unset"
        raise click.UsageError(message)
    home, layer, setting = Home.from_environment(), _layer(repo, host), setting_of(key)
    parsed = None if value is None else setting.parse(value)
    if not assign(home, setting, parsed, layer):
        output.say(f"{key}: nothing to change ({layer})")
        return
    output.say(f"{key}: {'removed' if parsed is None else parsed} ({layer})")
    trouble = announce(home)
    if trouble:
        output.say(f"the value is in {home.config}, but its event is not stored yet: {trouble}")


def _layer(repo: Path | None, host: str | None) -> Layer:
    if repo is not None and host is not None:
        message = "a value is set for an agent or for a repository: give one of --host and --repo"
        raise click.UsageError(message)
    return Layer(host or "", "" if repo is None else place_of_folder(repo).repository)


def _described(setting: Setting, configuration: Configuration, layer: Layer) -> dict[str, object]:
    """Return all there is to say of a setting, as JSON values."""
    takes: dict[str, object] = {"minimum": setting.minimum, "maximum": setting.maximum}
    if setting.choices:
        takes = {"choices": list(setting.choices)}
    elif setting.is_names:
        takes = {"names": True}
    return {
        "key": setting.key,
        "value": configuration.get(setting.key, host=layer.host, repository=layer.repository),
        "default": setting.default,
        "from": _source(setting, configuration, layer),
        "meaning": setting.meaning,
        **takes,
        "narrower": [
            {"host": where.host, "repository": where.repository, "value": value}
            for where, value in _set_for_some(setting, configuration)
        ],
    }


def _source(setting: Setting, configuration: Configuration, layer: Layer) -> str:
    if setting.key in configuration.repositories.get(layer.repository, {}):
        return str(layer)
    if setting.key in configuration.hosts.get(layer.host, {}):
        return str(layer)
    return "config.yaml" if setting.key in configuration.everywhere else "default"


def _row(setting: Setting, configuration: Configuration, layer: Layer) -> list[output.Cell | str]:
    source = _source(setting, configuration, layer)
    value = configuration.get(setting.key, host=layer.host, repository=layer.repository)
    return [
        setting.key,
        output.Cell(str(value), "" if source == "default" else "good"),
        output.Cell(str(setting.default), "quiet"),
        source,
        setting.meaning,
    ]


def _narrower(configuration: Configuration) -> list[output.Table]:
    rows = [
        [setting.key, str(value), str(where)]
        for setting in SETTINGS
        for where, value in _set_for_some(setting, configuration)
    ]
    return [output.Table("set for some only", ("key", "value", "for"), rows)] if rows else []


def _set_for_some(setting: Setting, configuration: Configuration) -> Iterator[tuple[Layer, Value]]:
    for host, values in configuration.hosts.items():
        if setting.key in values:
            yield Layer(host=host), values[setting.key]
    for repository, values in configuration.repositories.items():
        if setting.key in values:
            yield Layer(repository=repository), values[setting.key]
