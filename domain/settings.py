"""
The configuration keys: what each takes, what it means, what holds without it.

Reading and writing `config.yaml` is `scheduler.configuration`'s; this module knows no file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import BadSetting
from tokeneconomizer.domain.facts.limits import BLOCK_CHARACTERS, PROPOSER_CALLS_PER_DAY
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
        is_names: whether it takes names with commas between them.

    """

    key: str
    default: Value
    meaning: str
    choices: tuple[str, ...] = ()
    minimum: int = 1
    maximum: int = 1_000
    per_repository: bool = True
    per_host: bool = True
    is_names: bool = False

    def parse(self, text: str) -> Value:
        """
        Return the value that the text stands for.

        Raises:
            BadSetting: when the key does not take it.

        """
        if self.is_names:
            return ",".join(dict.fromkeys(text.replace(",", " ").split()))
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


def _gate(measure: str, default: int, maximum: int) -> Setting:
    meaning = f"{measure} that are far outside for a turn, while few green turns are known"
    return Setting(f"guard.gate_{measure}", default, meaning, maximum=maximum)


def _rule(name: str, meaning: str) -> Setting:
    return Setting(f"guard.{name}", "on", f"rule: {meaning}", ("on", "off"))


GUARD_RULES: tuple[Setting, ...] = (
    _rule("same_call", "one call keeps failing in the same way, or telling the same"),
    _rule("same_read", "the same unchanged thing is read again"),
    _rule("same_failure", "differing calls keep failing in the same way"),
    _rule("edit_refused", "an edit of one file fails to apply again and again"),
    _rule("cycle", "a few calls come round and round with the same results"),
    _rule("back_and_forth", "a file is changed to contents that it had before"),
    _rule("failures_return", "edits swap one failure for another and back"),
)

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
    _guard("same_read_repeats", guard.SAME_READ_REPEATS, "same unchanged thing read again"),
    _guard("poll_repeats", guard.POLL_REPEATS, "equal looks at something that is waited for"),
    _guard("signature_repeats", guard.SIGNATURE_REPEATS, "differing calls that fail in the same way"),
    _guard(
        "signature_repeats_in_a_row",
        guard.SIGNATURE_REPEATS_IN_A_ROW,
        "the same while nothing else worked",
    ),
    _guard("refused_edits", guard.REFUSED_EDITS, "edits of one file that fail to apply in the same way"),
    _guard("cycle_rounds", guard.CYCLE_ROUNDS, "rounds of several calls with the same results", minimum=3),
    _guard("returns", guard.RETURNS, "times that an earlier content or failure comes back"),
    _guard("span_calls", guard.SPAN_CALLS, "calls between two occurrences of one circle, at most"),
    _gate("calls", guard.GATE_CALLS, 2_000),
    _gate("failures", guard.GATE_FAILURES, 1_000),
    _gate("edits", guard.GATE_EDITS, 1_000),
    _gate("minutes", guard.GATE_MINUTES, 10_000),
    Setting(
        "guard.judge_confidence",
        guard.JUDGE_CONFIDENCE,
        "percent of confidence from which the judge is believed",
        maximum=100,
    ),
    Setting(
        "guard.judge_calls_per_session",
        guard.JUDGE_CALLS_PER_SESSION,
        "times that the judge is asked in one session, at most",
    ),
    Setting(
        "guard.judge_calls_per_day",
        guard.JUDGE_CALLS_PER_DAY,
        "times that the judge is asked on one day (UTC), at most",
        per_repository=False,
    ),
    *GUARD_RULES,
    Setting(
        "microskills",
        "envfacts",
        "tell the next session what earlier ones had to find out",
        ("off", "envfacts", "full"),
    ),
    Setting("toolprune", "suggest", "deny tools that the repository never uses", ("off", "suggest", "auto")),
    Setting("judge", "off", "ask the user's own agent whether a turn is stuck", ("off", "auto")),
    Setting("trust", "no", "treat the repository as trusted", ("yes", "no"), per_host=False),
    Setting("prune.min_prompts", 10, "prompts without a use before a tool counts as unused"),
    Setting("prune.min_sessions", 2, "sessions that these prompts must come from"),
    Setting("prune.single_prompt_sessions", 5, "single-prompt sessions that count as much"),
    Setting("prune.idle_minutes", 60, "idle minutes before a list is written"),
    Setting("prune.keep", "", "names that are never proposed, with commas between them", is_names=True),
    Setting(
        "facts.block_characters",
        BLOCK_CHARACTERS,
        "size of the facts block",
        minimum=200,
        maximum=4_000,
        per_host=False,
    ),
    Setting(
        "facts.proposer_calls_per_day",
        PROPOSER_CALLS_PER_DAY,
        "times that an agent is asked for facts on one day (UTC), at most, where `microskills` is `full`",
        per_repository=False,
    ),
)

BY_KEY: dict[str, Setting] = {setting.key: setting for setting in SETTINGS}
_DEFAULTS: dict[str, Value] = {setting.key: setting.default for setting in SETTINGS}


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
class _InForce:
    values: Mapping[str, Value]
    limits: guard.Limits


@dataclass(frozen=True, slots=True)
class Configuration:
    """
    The values that the user set: globally, per host, per repository identity.

    The narrowest one wins: repository, then host, then global, then the default.
    """

    everywhere: Mapping[str, Value] = field(default_factory=dict)
    hosts: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    repositories: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    _in_force: dict[tuple[str, str], _InForce] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def get(self, key: str, *, host: str = "", repository: str = "") -> Value:
        """Return the value in force for a host and a repository."""
        value = self._of(host, repository).values.get(key)
        return setting_of(key).default if value is None else value

    def limits(self, *, host: str = "", repository: str = "") -> guard.Limits:
        """Return the guard's thresholds in force."""
        return self._of(host, repository).limits

    def _of(self, host: str, repository: str) -> _InForce:
        """Return what is in force, merged once for each host and repository that has values of its own."""
        name = (host if host in self.hosts else "", repository if repository in self.repositories else "")
        found = self._in_force.get(name)
        if found is None:
            layers = (self.everywhere, self.hosts.get(host, {}), self.repositories.get(repository, {}))
            values = {**_DEFAULTS, **layers[0], **layers[1], **layers[2]}
            found = self._in_force[name] = _InForce(values, _limits_of(values))
        return found


def _limits_of(values: Mapping[str, Value]) -> guard.Limits:
    numbers = {
        name: int(values[f"guard.{name}"])
        for name in guard.Limits.__dataclass_fields__
        if f"guard.{name}" in BY_KEY
    }
    off = [setting.key.rpartition(".")[2] for setting in GUARD_RULES if values[setting.key] == "off"]
    return guard.Limits(**numbers, rules_off=" ".join(off))


def _either(words: tuple[str, ...] | list[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
