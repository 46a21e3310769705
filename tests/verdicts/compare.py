"""
Compare `runner_verdict` with naive readers, and with the log parsers of the public `swebench` package.

    python tests/verdicts/compare.py [CORPUS.jsonl]

The parsers take part where the package can be imported; they are read on the frameworks that they know.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

from score import Score, default_corpus, read_records, score

Reader = Callable[[dict[str, object]], str | None]

_RED_WORD = re.compile(r"\b(?:fail(?:ed|ures?|ing)?|errors?)\b", re.IGNORECASE)
_GREEN_WORD = re.compile(r"\b(?:ok|pass(?:ed|ing)?|success(?:ful)?)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

_PARSERS = {
    "pytest": ("python", "parse_log_pytest"),
    "pytest-sugar": ("python", "parse_log_pytest"),
    "unittest": ("python", "parse_log_django"),
    "django": ("python", "parse_log_django"),
    "nose2": ("python", "parse_log_django"),
    "jest": ("javascript", "parse_log_jest"),
    "vitest": ("javascript", "parse_log_vitest"),
    "mocha": ("javascript", "parse_log_lighthouse_mocha"),
    "node-test": ("javascript", "parse_log_tap"),
    "tape": ("javascript", "parse_log_tap"),
    "qunit": ("javascript", "parse_log_tap"),
    "bats": ("javascript", "parse_log_tap"),
    "prove": ("javascript", "parse_log_tap"),
    "go-test": ("go", "parse_log_gotest"),
    "cargo-test": ("rust", "parse_log_cargo"),
    "minitest": ("ruby", "parse_log_minitest"),
    "test-unit": ("ruby", "parse_log_ruby_unit"),
    "maven-surefire": ("java", "parse_log_maven"),
    "gradle": ("java", "parse_log_gradle_custom"),
    "phpunit": ("php", "parse_log_phpunit"),
    "googletest": ("c", "parse_log_googletest"),
    "doctest-cpp": ("c", "parse_log_doctest"),
}
_RED_STATES = frozenset({"FAILED", "ERROR"})


def by_exit_code(record: dict[str, object]) -> str:
    """Read the exit code of the call alone."""
    return "passed" if record["shell_exit_code"] == 0 else "failed"


def by_any_red_word(record: dict[str, object]) -> str:
    """Look for a red word anywhere, then for a green one."""
    text = _ESCAPE.sub("", str(record["output"]))
    if _RED_WORD.search(text):
        return "failed"
    return "passed" if _GREEN_WORD.search(text) else "unknown"


def by_last_summary_line(record: dict[str, object]) -> str:
    """Believe the last line that has a number and a word of a result."""
    for line in reversed(_ESCAPE.sub("", str(record["output"])).splitlines()):
        if not _NUMBER.search(line):
            continue
        if re.search(r"\b[1-9]\d* (?:failed|failures?|failing|errors?)\b|FAILED", line):
            return "failed"
        if _GREEN_WORD.search(line):
            return "passed"
    return "unknown"


def by_swebench(record: dict[str, object]) -> str | None:
    """Read with the package's parser of the framework; None where it has none."""
    known = _PARSERS.get(str(record["framework"]))
    if known is None:
        return None
    module = importlib.import_module(f"swebench.harness.log_parsers.{known[0]}")
    parse = cast("Callable[[str, object], dict[str, str]]", getattr(module, known[1]))
    states = set(parse(str(record["output"]), None).values())
    if states & _RED_STATES:
        return "failed"
    return "passed" if "PASSED" in states else "unknown"


def read_with(reader: Reader, records: list[dict[str, object]]) -> Score:
    """Judge the records that a reader knows."""
    result = Score()
    for record in records:
        said = reader(record)
        if said is not None:
            result.add(record, said, {})
    return result


def row(name: str, result: Score) -> str:
    """Return one row of the table."""
    share = f"{100 * result.strict / result.records:.1f} %", f"{100 * result.lenient / result.records:.1f} %"
    found = f"{result.red_found} of {result.red}", f"{result.green_found} of {result.green}"
    return f"| {name} | {result.records} | {' | '.join((*share, *found))} | {len(result.red_called_passed)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Compare readers of test output.")
    parser.add_argument("corpus", nargs="?", type=Path, default=default_corpus())
    corpus = parser.parse_args().corpus
    if not corpus.is_file():
        sys.exit(f"{corpus} is not there: name a corpus file")
    records = read_records(corpus)
    covered = [record for record in records if record["framework"] in _PARSERS]
    lines = [
        "| reader | records | strict | lenient | red found | green found | red called passed |",
        "|---|---|---|---|---|---|---|",
        row("runner_verdict", score(records, exit_codes=True)),
        row("runner_verdict, no exit codes", score(records, exit_codes=False)),
        row("exit code", read_with(by_exit_code, records)),
        row("any red word first", read_with(by_any_red_word, records)),
        row("last summary line wins", read_with(by_last_summary_line, records)),
    ]
    try:
        importlib.import_module("swebench.harness.log_parsers.python")
    except ImportError as missing:
        lines.append(f"swebench cannot be imported ({missing}): its parsers are left out")
    else:
        lines.append(row("parsers of swebench", read_with(by_swebench, records)))
        lines.append(row("runner_verdict, the same records", score(covered, exit_codes=True)))
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
