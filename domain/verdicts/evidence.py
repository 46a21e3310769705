"""Which summaries of an output are the words of the command's own runs, and not old or quoted ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.calls import Role
from tokeneconomizer.domain.verdicts.model import Summary, Verdict
from tokeneconomizer.domain.verdicts.output import clean
from tokeneconomizer.domain.verdicts.runners import FAMILIES
from tokeneconomizer.domain.verdicts.runners.base import EVERY
from tokeneconomizer.domain.verdicts.runners.junit_xml import FAMILY as JUNIT_XML
from tokeneconomizer.domain.verdicts.views import fed_by_pipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.verdicts.calls import Call
    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.runners.base import Family
    from tokeneconomizer.domain.verdicts.shell import CommandReading

_LOOP = re.compile(r"\b(?:for|while|until)\b[\s\S]{0,2000}?\bdo\b")
_REPEATING_WRAPPERS = frozenset({"xargs", "parallel", "watch"})
_RED = frozenset({Verdict.FAILED, Verdict.ERROR})
_PRINTERS = frozenset(
    [
        "cat",
        "head",
        "tail",
        "less",
        "more",
        "bat",
        "batcat",
        "sed",
        "awk",
        "gawk",
        "nl",
        "tac",
        "zcat",
        "grep",
        "egrep",
        "rg",
        "jq",
        "xmllint",
    ]
)
_PREFIXING_OPTIONS = ("-n", "-r", "-R", "-c", "-l", "-q", "-rn", "-nr", "-rl", "-in", "-rin", "-nE", "-rnE")
_EDITORS = frozenset(
    [
        "sed",
        "perl",
        "patch",
        "cp",
        "mv",
        "tee",
        "ed",
        "ex",
        "git",
        "black",
        "ruff",
        "isort",
        "prettier",
        "eslint",
        "gofmt",
        "cat",
        "printf",
        "echo",
    ]
)


@dataclass(slots=True)
class Evidence:
    """The summaries that count, with their families."""

    finals: list[tuple[Family, Summary]] = field(default_factory=list)
    signs: list[tuple[Family, Summary]] = field(default_factory=list)
    missing: bool = False
    """Whether a run that must have taken place has no words in the output."""
    doubtful: bool = False
    """Whether the words may be those of an older run that the command printed too."""


@dataclass(frozen=True, slots=True)
class _Old:
    """Where the command prints texts that are not its runs' own."""

    before: bool = False
    after: bool = False

    @property
    def any(self) -> bool:
        return self.before or self.after


def evidence_of(command: str, reading: CommandReading, calls: Sequence[Call], output: Output) -> Evidence:
    """Return what the output says of the command's runs."""
    runs = [call for call in calls if call.role is Role.RUNNER]
    wrapped = any(call.role is Role.WRAPPER for call in calls)
    old = _old_texts(reading, calls)
    repeated = (
        wrapped
        or any(set(call.invocation.wrappers) & _REPEATING_WRAPPERS for call in runs)
        or _LOOP.search(command) is not None
    )
    evidence = Evidence()
    homes = _homes(runs)
    families = FAMILIES if wrapped else homes
    for family in families:
        number = sum(call.family is family or _prints(call, family) for call in runs)
        found = family.summaries(output)
        finals = [summary for summary in found if summary.final]
        choice = _Choice(number, repeated, old, _reruns(reading, runs))
        evidence.finals.extend((family, summary) for summary in _chosen(family, finals, choice, output))
        evidence.signs.extend((family, summary) for summary in found if not summary.final)
    if not evidence.finals and not wrapped and not old.any:
        # A runner may print by the grammar of another: pytest called from a test file that is a script.
        others = (family for family in FAMILIES if family not in homes)
        evidence.finals.extend(
            (family, said) for family in others for said in family.summaries(output) if said.final
        )
    # A runner that has closed with its summary has said all; of the others each sign counts.
    closed = [family for family, _ in evidence.finals]
    called = [call.family for call in runs]
    for family in families:
        if not closed or (family in called and family not in closed):
            own = family in called
            evidence.signs.extend((family, sign) for sign in family.signs(output) if own or not sign.general)
    evidence.missing = not _reruns(reading, runs) and _missing(command, runs, evidence)
    evidence.doubtful = old.any and _may_be_old(runs, evidence)
    return evidence


@dataclass(frozen=True, slots=True)
class _Choice:
    runs: int
    repeated: bool
    old: _Old
    reruns: bool


def _chosen(family: Family, finals: list[Summary], choice: _Choice, output: Output) -> list[Summary]:
    """Return the summaries that are the runs' own, as far as that can be told by their number and order."""
    if choice.repeated or not choice.runs or family.several:
        return finals
    if choice.old.any:
        more = len(finals) > choice.runs
        if more and not choice.old.before:
            return finals[: choice.runs]
        if more and not choice.old.after:
            return finals[-choice.runs :]
    elif choice.reruns:
        return finals[-1:]
    elif choice.runs == 1 and family.last_counts:
        return _closing(family, finals, output)
    return finals


def _closing(family: Family, finals: list[Summary], output: Output) -> list[Summary]:
    """Return the closing words of one run: the last ones, unless earlier red ones stand below red tests."""
    if len(finals) > 1 and finals[-1].verdict not in _RED:
        first_red = min((sign.line for sign in family.signs(output) if sign.verdict in _RED), default=None)
        for summary in finals:
            if summary.verdict in _RED and first_red is not None and first_red < summary.line:
                return [summary]
    return finals[-1:]


def _homes(runs: Sequence[Call]) -> list[Family]:
    names = {name for call in runs if call.family for name in (call.family.name, *call.family.formats)}
    return [family for family in FAMILIES if family.name in names or EVERY in names or family is JUNIT_XML]


def _prints(call: Call, family: Family) -> bool:
    return call.family is not None and family.name in call.family.formats


def _old_texts(reading: CommandReading, calls: Sequence[Call]) -> _Old:
    positions = [call.invocation.position for call in calls if call.role in {Role.RUNNER, Role.WRAPPER}]
    if not positions:
        return _Old()
    fresh = _fresh_files(reading, calls)
    before = after = False
    for call in calls:
        if call.role is not Role.READER or not _prints_old(call, calls, fresh):
            continue
        before |= call.invocation.position < max(positions)
        after |= call.invocation.position > min(positions)
    return _Old(before, after)


def _fresh_files(reading: CommandReading, calls: Sequence[Call]) -> set[str]:
    """Return the files that the runs themselves write."""
    files = set(reading.edits)
    for call in calls:
        if call.role in {Role.RUNNER, Role.WRAPPER}:
            files.add(call.invocation.output_file)
            files.update(word.rsplit("=", 1)[-1] for word in call.program.arguments)
    return files - {""}


def _prints_old(call: Call, calls: Sequence[Call], fresh: set[str]) -> bool:
    program = call.program
    if fed_by_pipe(call, calls) or call.invocation.output_hidden:
        return False
    if program.name in {"echo", "printf"}:
        said = clean("\n".join(program.arguments).replace("\\n", "\n"))
        return any(summary.final for family in FAMILIES for summary in family.summaries(said))
    if program.name == "git":
        return program.first == "show" and any(":" in word for word in program.arguments)
    if program.name in {"grep", "egrep", "rg"} and (
        program.name == "rg" or any(option in program.arguments for option in _PREFIXING_OPTIONS)
    ):
        return False
    if program.name not in _PRINTERS:
        return False
    return bool(program.arguments) and not any(_is_fresh(word, fresh) for word in program.arguments)


def _is_fresh(word: str, fresh: set[str]) -> bool:
    return word in fresh or word.removeprefix("./") in fresh or word.startswith("$") or "<(" in word


def _reruns(reading: CommandReading, runs: Sequence[Call]) -> bool:
    """Whether one suite is run again after an edit inside the command: then the last run counts."""
    if len(runs) < 2 or not reading.edits:  # noqa: PLR2004 - a run and its repetition
        return False
    first = runs[0].program
    if any((run.program.name, run.program.arguments) != (first.name, first.arguments) for run in runs[1:]):
        return False
    low, high = runs[-2].invocation.position, runs[-1].invocation.position
    between = [run for run in reading.invocations if low < run.position < high]
    return any(run.program in _EDITORS and not _only_reads(run.program, run.arguments) for run in between)


def _only_reads(program: str, arguments: tuple[str, ...]) -> bool:
    if program == "git":
        return arguments[:1] not in (("apply",), ("checkout",), ("restore",), ("revert",), ("am",))
    if program in {"sed", "perl"}:
        return not any(word.startswith(("-i", "-pi", "--in-place")) for word in arguments)
    return program in {"cat", "echo", "printf"}


def _missing(command: str, runs: Sequence[Call], evidence: Evidence) -> bool:
    """Whether fewer runs speak than must have run; only asked where those that speak are green."""
    optional = "||" in command
    for family in {call.family for call in runs if call.family is not None}:
        needed = sum(call.family is family and not (optional and call.invocation.guarded) for call in runs)
        names = {family.name, *family.formats}
        said = sum(
            spoken.name in names or EVERY in names or spoken is JUNIT_XML for spoken, _ in evidence.finals
        )
        if said < (min(needed, 1) if family.several else needed):
            return True
    return False


def _may_be_old(runs: Sequence[Call], evidence: Evidence) -> bool:
    veiled = [call for call in runs if call.invocation.piped_into or call.invocation.output_hidden]
    green = [s for _, s in evidence.finals if s.verdict in {Verdict.PASSED, Verdict.NO_TESTS}]
    return bool(veiled) and len(green) <= len(runs)
