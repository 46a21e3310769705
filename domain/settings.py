"""
The configuration keys: what each takes, what it means, what holds without it.

Reading and writing `config.yaml` is `scheduler.configuration`'s; this module knows no file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import BadSetting
from tokeneconomizer.domain.facts.limits import BLOCK_CHARACTERS
from tokeneconomizer.domain.guard import limits as guard

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = str | int

ALL_HOSTS = "*"
"""Stands for the host where a value holds for every agent."""


@dataclass(frozen=True, slots=True)
class Setting:
    """
    One configuration key.

    Attributes:
        key: dotted name.
        default: what holds when nothing is set.
        meaning: one sentence for `te config list`.
        choices: the words it takes; empty for a number.
        minimum, maximum: the numbers it takes.
        per_repository, per_host: where it may be set besides globally.
        in_use: False while this version stores the value and does not act on it.

    """

    key: str
    default: Value
    meaning: str
    choices: tuple[str, ...] = ()
    minimum: int = 1
    maximum: int = 1_000
    per_repository: bool = True
    per_host: bool = True
    in_use: bool = True

    def parse(self, text: str) -> Value:
        """
        Return the value that the text stands for.

        Raises:
            BadSetting: when the key does not take it.

        """
        if self.choices:
            if text in self.choices:
                return text
            message = f"`{self.key}` takes {_either(self.choices)}, not `{text}`"
            raise BadSetting(message)
        is_number = text.isascii() and text.isdigit()
        if is_number and self.minimum <= int(text[:9]) <= self.maximum:
            return int(text[:9])
        message = f"`{self.key}` takes a whole number from {self.minimum} to {self.maximum}, not `{text}`"
        raise BadSetting(message)


def _guard(name: str, default: int, meaning: str, minimum: int = 2) -> Setting:
    return Setting(f"guard.{name}", default, meaning, minimum=minimum, maximum=200)


SETTINGS: tuple[Setting, ...] = (
    Setting("loopguard", "on", "redirect a turn that goes in circles", ("on", "off")),
    Setting(
        "echo_stop_hint",
        "auto",
        "ask the model to repeat a stop hint that the agent hides",
        ("auto", "always", "never"),
    ),
    Setting("lang", "auto", "language of what users see", ("en", "zh", "auto"), per_repository=False),
    _guard("failed_repeats", guard.FAILED_REPEATS, "same call with the same failure, nothing edited between"),
    _guard(
        "failed_repeats_with_edits",
        guard.FAILED_REPEATS_WITH_EDITS,
        "same call with the same failure, with edits between",
    ),
    _guard("same_result_repeats", guard.SAME_RESULT_REPEATS, "same successful call with the same result"),
    _guard("poll_repeats", guard.POLL_REPEATS, "equal looks at something that is waited for"),
    _guard("signature_repeats", guard.SIGNATURE_REPEATS, "differing calls that fail in the same way"),
    _guard("span_calls", guard.SPAN_CALLS, "calls between two occurrences of one circle, at most"),
    Setting(
        "microskills",
        "envfacts",
        "tell the next session what earlier ones had to find out",
        ("off", "envfacts", "full"),
    ),
    Setting(
        "toolprune",
        "suggest",
        "deny tools that the repository never uses",
        ("off", "suggest", "auto"),
        in_use=False,
    ),
    Setting(
        "judge", "off", "ask the user's own agent whether a turn is stuck", ("off", "auto"), in_use=False
    ),
    Setting("trust", "no", "treat the repository as trusted", ("yes", "no"), per_host=False),
    Setting("prune.min_prompts", 10, "prompts without a use before a tool counts as unused", in_use=False),
    Setting("prune.min_sessions", 2, "sessions that these prompts must come from", in_use=False),
    Setting("prune.single_prompt_sessions", 5, "single-prompt sessions that count as much", in_use=False),
    Setting("prune.idle_minutes", 60, "idle minutes before a list is written", in_use=False),
    Setting(
        "facts.block_characters",
        BLOCK_CHARACTERS,
        "size of the facts block",
        minimum=200,
        maximum=4_000,
        per_host=False,
    ),
)

BY_KEY: dict[str, Setting] = {setting.key: setting for setting in SETTINGS}


def setting_of(key: str) -> Setting:
    """
    Return the setting of a key.

    Raises:
        BadSetting: when there is none; the message names the nearest ones.

    """
    found = BY_KEY.get(key)
    if found is None:
        near = [name for name in BY_KEY if name.rpartition(".")[2] == key or name.startswith(key[:4])]
        hint = f"did you mean {_either(near)}" if near else "`te config list` shows all keys"
        message = f"there is no setting `{key}`: {hint}"
        raise BadSetting(message)
    return found


@dataclass(frozen=True, slots=True)
class Configuration:
    """
    The values that the user set: globally, per host, per repository identity.

    The narrowest one wins: repository, then host, then global, then the default.
    """

    everywhere: Mapping[str, Value] = field(default_factory=dict)
    hosts: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    repositories: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def get(self, key: str, *, host: str = "", repository: str = "") -> Value:
        """Return the value in force for a host and a repository."""
        for layer in (self.repositories.get(repository, {}), self.hosts.get(host, {}), self.everywhere):
            if key in layer:
                return layer[key]
        return setting_of(key).default

    def limits(self, *, host: str = "", repository: str = "") -> guard.Limits:
        """Return the guard's thresholds in force."""
        values = {
            name: int(self.get(f"guard.{name}", host=host, repository=repository))
            for name in guard.Limits.__dataclass_fields__
        }
        return guard.Limits(**values)


def _either(words: tuple[str, ...] | list[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
