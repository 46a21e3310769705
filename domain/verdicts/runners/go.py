"""go test: plain, -v, -json; and gotestsum."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import NO_COUNTS, Family, reader, signs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NAME = "go-test"

_NO_FILES = re.compile(r"^\?\s+\S+\s+\[no test files\]$")
_OK = re.compile(r"^ok\s+\S+\s+(?:\(cached\)|\d[\d.]*m?s)(?P<rest>.*)$")
_FAIL = re.compile(r"^FAIL\s+\S+\s+(?P<rest>\(cached\)|\d[\d.]*m?s|\[.*\])$")
_TEST = re.compile(r"^--- (?P<word>PASS|FAIL|SKIP): (?:Test|Example|Fuzz|Benchmark)\S* \(\d[\d.]*s\)$")
_PANIC = re.compile(r"^(?:panic: |fatal error: |SIG[A-Z]+: )")
_STACK = re.compile(r"^testing\.tRunner\(|^created by testing\.")
_NOT_STARTED = re.compile(
    r"^(?:no Go files in |go: (?:cannot find|go\.mod file not found|no such tool|errors parsing)"
    r"|no required module|"
    r"go: no modules|pattern \./\.\.\.: |package \S+ is not in (?:std|GOROOT)|matched no packages|"
    r"go: warning: \"\S+\" matched no packages)"
)
_DONE = re.compile(
    r"^DONE (?:\d+ runs?, )?(?P<ran>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, "
    r"(?P<failed>\d+) failures?)?"
    r"(?:, (?P<errors>\d+) errors?)? in \d"
)
_SUM_SIGNS = signs(
    NAME,
    ("=== F", r"^=== (?:Failed|FAIL: .+)$", Verdict.FAILED, "failed test"),
    ("✖ ", r"^✖  ?\S+ \(", Verdict.FAILED, "failed package"),
)


def runs(program: Program) -> bool:
    """Whether a program is go test or gotestsum; a compiled test binary is judged by what it prints."""
    if program.tool == "go":
        return program.first == "test"
    return program.tool in {"gotestsum", "gotest", "richgo", "ginkgo", "gow"}


def lists(program: Program) -> bool:
    """Whether it is called so that it runs nothing."""
    return program.has("-c", "-list", "--list", "-h", "-help", "--help", "-n", "--version")


@dataclass(slots=True)
class _Seen:
    """What the lines of a run add up to."""

    green: int = 0
    empty: int = 0
    red: int = 0
    broken: int = 0
    failed: int = 0
    skipped: int = 0
    panics: int = 0
    last: int = -1
    last_red: int = -1
    closing: bool = False


def summaries(output: Output) -> list[Summary]:
    """Return what the runs say; the packages of one output are one summary."""
    found = [*_done(output)]
    if not found:
        found.extend(_events(output) if '"Action":' in output.text else _packages(output))
    return found


def _done(output: Output) -> Iterator[Summary]:
    for index, text in output.containing("DONE "):
        match = _DONE.match(text)
        if match is None:
            continue
        numbers = {name: int(value) for name, value in match.groupdict().items() if value is not None}
        counts = Counts(None, numbers.get("failed"), numbers.get("errors"), numbers.get("skipped"))
        if counts.failed:
            verdict = Verdict.FAILED
        elif counts.errors:
            verdict = Verdict.ERROR
        else:
            verdict = Verdict.PASSED if numbers["ran"] > (counts.skipped or 0) else Verdict.NO_TESTS
        yield Summary(NAME, verdict, counts, output.number_at(index), "gotestsum: DONE line")


def _look(output: Output) -> _Seen:
    seen = _Seen()
    needles = ("ok ", "FAIL", "[no test files]", "--- SKIP: ", "panic: ", "fatal error: ", "testing.", "SIG")
    for index, text in output.containing(*needles):
        _take(seen, index, text)
    return seen


def _take(seen: _Seen, index: int, text: str) -> None:
    ok, fail, test = _OK.match(text), _FAIL.match(text), _TEST.match(text)
    if ok is not None:
        empty = "[no tests to run]" in ok["rest"]
        seen.empty += empty
        seen.green += not empty
        seen.last = index
    elif fail is not None:
        seen.red += 1
        seen.broken += fail["rest"].startswith("[")
        seen.last = seen.last_red = index
    elif _NO_FILES.match(text):
        seen.empty += 1
        seen.last = index
    elif test is not None:
        seen.skipped += test["word"] == "SKIP"
        seen.failed += test["word"] == "FAIL"
        seen.last_red = index if test["word"] == "FAIL" else seen.last_red
    elif text == "FAIL":
        seen.closing = True
        seen.last_red = index if seen.last_red < 0 else seen.last_red
    elif _PANIC.match(text) or _STACK.match(text):
        seen.panics += 1


def _packages(output: Output) -> Iterator[Summary]:
    seen = _look(output)
    if seen.red or seen.closing or seen.failed:
        broken = not seen.failed and bool(seen.broken or seen.panics)
        verdict = Verdict.ERROR if broken else Verdict.FAILED
        line = output.number_at(seen.last_red)
        rule = "go test: package not built or crashed" if broken else "go test: FAIL"
        yield Summary(NAME, verdict, NO_COUNTS, line, rule, bool(seen.red or seen.closing))
        return
    if seen.last >= 0 and (seen.green or seen.empty):
        only_skipped = "=== RUN" in output.text and "--- PASS: " not in output.text and seen.skipped > 0
        green = seen.green and not only_skipped
        verdict = Verdict.PASSED if green else Verdict.NO_TESTS
        # Packages without tests may be all that a filter left.
        final = bool(seen.green or "[no tests to run]" in output.text)
        yield Summary(NAME, verdict, NO_COUNTS, output.number_at(seen.last), "go test: packages ok", final)
        return
    for index, text in output.containing(
        "no Go files", "go: ", "no required", "matched no", "pattern ", "package "
    ):
        if _NOT_STARTED.match(text):
            empty = text.startswith("no Go files") or "matched no packages" in text
            verdict = Verdict.NO_TESTS if empty else Verdict.ERROR
            yield Summary(
                NAME, verdict, NO_COUNTS, output.number_at(index), "go test: did not start", final=False
            )
            return


_EVENT = re.compile(r'^\{.*"Action":"(?P<action>[a-z-]+)"')
_EVENT_CHARACTERS = 16 * 1024


def _events(output: Output) -> Iterator[Summary]:
    packages: dict[str, str] = {}
    tests = {"pass": 0, "fail": 0, "skip": 0}
    last = -1
    for index in output.indices(
        '"Action":"pass"', '"Action":"fail"', '"Action":"skip"', '"Action":"build-fail"'
    ):
        event = _event(output.text_at(index))
        if event is None:
            continue
        action, package, test = event
        last = index
        if test:
            tests[action] = tests.get(action, 0) + 1
        elif package:
            packages[package] = action
    if not packages and not tests["fail"]:
        yield from _packages(output)
        return
    line = output.number_at(last)
    if "fail" in packages.values() or tests["fail"]:
        verdict = Verdict.FAILED if tests["fail"] or "[build failed]" not in output.text else Verdict.ERROR
    elif "FAIL\t" in output.text and "[build failed]" in output.text:
        verdict = Verdict.ERROR
    else:
        verdict = Verdict.PASSED if tests["pass"] or "pass" in packages.values() else Verdict.NO_TESTS
        if tests["skip"] and not tests["pass"]:
            verdict = Verdict.NO_TESTS
    yield Summary(NAME, verdict, NO_COUNTS, line, "go test: JSON events")


def _event(text: str) -> tuple[str, str, str] | None:
    if len(text) > _EVENT_CHARACTERS or not _EVENT.match(text):
        return None
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    return str(event.get("Action", "")), str(event.get("Package", "")), str(event.get("Test", ""))


FAMILY = Family(
    NAME,
    runs,
    summaries,
    reader(*_SUM_SIGNS),
    lists,
    statuses={1: Verdict.FAILED, 2: Verdict.ERROR},
    scattered=True,
    several=True,
)
