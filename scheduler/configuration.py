"""`config.yaml`, the truth about what the user set; comments and order stay when `te config` changes it."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from tokeneconomizer.domain.errors import BadSetting
from tokeneconomizer.domain.settings import ALL_HOSTS, SETTINGS, Configuration, Setting, setting_of
from tokeneconomizer.hosts.recognise import HOST_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.domain.settings import Value

HOSTS_SECTION = "hosts"
REPOSITORIES_SECTION = "repositories"

CONFIG_BYTES_MAX = 1_000_000
"""A configuration of a few hundred keys is some kilobytes."""

INDENT_COLUMNS = 2

_INDENT = re.compile(r"^( +)[^\s#]", re.MULTILINE)

HEADER = "# Settings of tokeneconomizer; `te config list` explains each key.\n"


def parse(text: str) -> Configuration:
    """
    Return the configuration that a file's text holds.

    Raises:
        BadSetting: the text is no YAML mapping, or a key or value in it is refused.

    """
    document = _load(text)
    sections = (HOSTS_SECTION, REPOSITORIES_SECTION)
    return Configuration(
        everywhere=_values({key: value for key, value in document.items() if key not in sections}),
        hosts={_host(name): _values(tree, host=name) for name, tree in _section(document, HOSTS_SECTION)},
        repositories={
            name: _values(tree, repository=name) for name, tree in _section(document, REPOSITORIES_SECTION)
        },
    )


def read(path: Path) -> Configuration:
    """Return the configuration of a file; an absent one sets nothing."""
    try:
        with path.open(encoding="utf-8") as file:
            return parse(file.read(CONFIG_BYTES_MAX))
    except FileNotFoundError:
        return Configuration()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read ({error}): mend the file, or remove it to go back to the defaults"
        raise BadSetting(message) from error


def changed(text: str, setting: Setting, value: Value | None, *, host: str, repository: str) -> str:
    """
    Return the file's text with one value set, or removed when it is None; all else stays as it was.

    Raises:
        BadSetting: the text is no YAML mapping, or the setting does not exist for a host or repository.

    """
    _refuse_wrong_place(setting, host=host, repository=repository)
    document = _load(text)
    groups = [REPOSITORIES_SECTION, repository] if repository else [HOSTS_SECTION, host] if host else []
    if value is None:
        return _without(text, document, groups, setting.key)
    comments = "" if document else _comments_of(text)
    layer = document
    for name in groups:
        layer = _child(layer, name)
    _assign(layer, setting.key, value)
    return (comments or ("" if text.strip() else HEADER)) + _dumped(document, text)


def policies(configuration: Configuration) -> Iterator[tuple[str, str, str, str]]:
    """Yield every value as (host or `*`, key, value as JSON, repository or empty); `null` where unset."""
    layers = [(ALL_HOSTS, "", configuration.everywhere)]
    layers += [(host, "", values) for host, values in configuration.hosts.items()]
    layers += [(ALL_HOSTS, name, values) for name, values in configuration.repositories.items()]
    for host, repository, values in layers:
        for setting in SETTINGS:
            value = values.get(setting.key)
            yield host, setting.key, json.dumps(value, ensure_ascii=False), repository


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    return yaml


def _dumped(document: CommentedMap, text: str) -> str:
    """Return the document as text, its groups indented as they were."""
    yaml = _yaml()
    yaml.map_indent = next((len(found) for found in _INDENT.findall(text)), INDENT_COLUMNS)
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue()


def _load(text: str) -> CommentedMap:
    try:
        document = _yaml().load(text)
    except Exception as error:
        message = (
            f"config.yaml is no valid YAML ({' '.join(str(error).split())[:200]}): mend the line it names"
        )
        raise BadSetting(message) from error
    if document is None:
        return CommentedMap()
    if not isinstance(document, CommentedMap):
        message = "config.yaml must hold `key: value` lines: `te config list` shows the keys"
        raise BadSetting(message)
    return document


def _host(name: str) -> str:
    if name not in HOST_NAMES:
        message = (
            f"`{HOSTS_SECTION}` in config.yaml names no agent `{name}`: name one of {', '.join(HOST_NAMES)}"
        )
        raise BadSetting(message)
    return name


def _section(document: Mapping[str, object], name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    section = document.get(name) or {}
    if not isinstance(section, dict) or not all(isinstance(values, dict) for values in section.values()):
        message = f"`{name}` in config.yaml must hold one group of `key: value` lines per name"
        raise BadSetting(message)
    for key, values in section.items():
        yield str(key), values


def _values(tree: Mapping[str, object], *, host: str = "", repository: str = "") -> dict[str, Value]:
    """Return the dotted keys of nested groups with their checked values."""
    values: dict[str, Value] = {}
    for key, value in _dotted(tree):
        setting = setting_of(key)
        _refuse_wrong_place(setting, host=host, repository=repository)
        if key in values:
            message = f"`{key}` is set twice in config.yaml: remove one of the lines"
            raise BadSetting(message)
        values[key] = setting.parse(_as_text(value))
    return values


def _dotted(tree: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", inner_value) for inner, inner_value in value.items())
        else:
            yield str(name), value


def _as_text(value: object) -> str:
    # YAML 1.1 writers mean the words on, off, yes and no; ruamel reads them as words, and true as a boolean.
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse_wrong_place(setting: Setting, *, host: str, repository: str) -> None:
    if repository and not setting.per_repository:
        message = f"`{setting.key}` holds for all repositories: set it without --repo"
        raise BadSetting(message)
    if host and not setting.per_host:
        message = f"`{setting.key}` holds for all agents: set it without --host"
        raise BadSetting(message)


def _child(layer: CommentedMap, name: str) -> CommentedMap:
    child = layer.setdefault(name, CommentedMap())
    if not isinstance(child, CommentedMap):
        message = f"`{name}` in config.yaml must hold `key: value` lines"
        raise BadSetting(message)
    return child


def _assign(layer: CommentedMap, key: str, value: Value) -> None:
    group, dot, name = key.partition(".")
    if dot and key not in layer:
        layer, key = _child(layer, group), name
    layer[key] = value


def _without(text: str, document: CommentedMap, groups: list[str], key: str) -> str:
    """Return the text without the lines of a key and of the groups that it leaves empty."""
    trail = _trail(document, [*groups, key]) or _trail(document, [*groups, *key.split(".", 1)])
    if trail is None:
        return text
    lines = {layer.lc.key(name)[0] for layer, name in trail[-1:]}
    layer, name = trail.pop()
    del layer[name]
    while trail and not layer:
        layer, name = trail.pop()
        lines.add(layer.lc.key(name)[0])
        del layer[name]
    # Values may take several lines, or share one: what is cut must read as what is left.
    cut = "".join(line for number, line in enumerate(text.splitlines(keepends=True)) if number not in lines)
    try:
        if _load(cut) == document:
            return cut
    except BadSetting:
        pass
    return _dumped(document, text) if document else _comments_of(text)


def _trail(document: CommentedMap, names: list[str]) -> list[tuple[CommentedMap, str]] | None:
    """Return each name with the group that holds it, from the outside in; None where one is missing."""
    trail = []
    layer: object = document
    for name in names:
        if not isinstance(layer, CommentedMap) or name not in layer:
            return None
        trail.append((layer, name))
        layer = layer[name]
    return trail


def _comments_of(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if line.lstrip().startswith("#"))
