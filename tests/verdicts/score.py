"""
Score `runner_verdict` against recorded outputs of real test runners.

    python tests/verdicts/score.py [CORPUS.jsonl] [--wrong]

Prints strict and lenient shares, red runs called passed, red runs found and right counts, with the recorded
exit codes and with none.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts import runner_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokeneconomizer.domain.verdicts import RunnerVerdict

REPOSITORY = Path(__file__).resolve().parents[2]
COUNTS = ("passed", "failed", "errors", "skipped")
RED = frozenset({"failed", "error"})


def default_corpus() -> Path:
    """Return where the records are, unless one is named."""
    folder = os.environ.get("TOKENECONOMIZER_CORPUS")
    return (Path(folder) if folder else REPOSITORY.parent / "shared") / "verdicts" / "dev.jsonl"


@dataclass
class Score:
    """The figures of one pass."""

    records: int = 0
    strict: int = 0
    lenient: int = 0
    red: int = 0
    red_found: int = 0
    green: int = 0
    green_found: int = 0
    red_called_passed: list[str] = field(default_factory=list)
    counts: int = 0
    counts_right: int = 0
    wrong: list[str] = field(default_factory=list)
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(
        self, record: dict[str, object], said: str, numbers: dict[str, int | None], rule: str = ""
    ) -> None:
        """Count one record."""
        truth = record["truth"]
        assert isinstance(truth, dict)
        wanted = str(truth["verdict"])
        accepted = {wanted, *truth["alt"]}
        self.records += 1
        self.strict += said == wanted
        lenient = said in accepted or (said in RED and bool(accepted & RED))
        self.lenient += lenient
        if wanted in RED:
            self.red += 1
            self.red_found += said in RED
            if said == "passed":
                self.red_called_passed.append(str(record["id"]))
        if wanted == "passed":
            self.green += 1
            self.green_found += said == "passed"
        missed = []
        for name in COUNTS:
            if truth[name] is not None:
                self.counts += 1
                right = numbers.get(name) == truth[name]
                self.counts_right += right
                if not right:
                    missed.append(f"{name} {numbers.get(name)} for {truth[name]}")
        if said != wanted or missed:
            self.confusions[wanted, said] += said != wanted
            mark = "" if lenient else "!! "
            self.wrong.append(f"{mark}{record['id']}: {said} for {wanted} ({rule}) {'; '.join(missed)}")

    def lines(self) -> list[str]:
        """Return the figures as text."""
        return [
            f"records            {self.records}",
            f"strict             {_share(self.strict, self.records)}",
            f"lenient            {_share(self.lenient, self.records)}",
            f"red called passed  {len(self.red_called_passed)} {' '.join(self.red_called_passed)}".rstrip(),
            f"red found          {_share(self.red_found, self.red)}",
            f"green found        {_share(self.green_found, self.green)}",
            f"counts right       {_share(self.counts_right, self.counts)}",
        ]


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {100 * part / whole:.2f} %" if whole else "0/0"


def read_records(corpus: Path) -> list[dict[str, object]]:
    """Return the records of a corpus file."""
    return [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines() if line.strip()]


def score(records: Iterable[dict[str, object]], *, exit_codes: bool) -> Score:
    """Judge all records, with their exit codes or with none."""
    result = Score()
    for record in records:
        code = record["shell_exit_code"] if exit_codes else None
        said: RunnerVerdict = runner_verdict(
            str(record["command"]), code if isinstance(code, int) else None, str(record["output"])
        )
        result.add(record, said.verdict.value, {name: getattr(said, name) for name in COUNTS}, said.rule)
    return result


def main() -> None:
    """Print the figures of a corpus."""
    parser = argparse.ArgumentParser(description="Score runner verdicts against a corpus.")
    parser.add_argument("corpus", nargs="?", type=Path, default=default_corpus())
    parser.add_argument("--wrong", action="store_true", help="list the records that are not strictly right")
    wishes = parser.parse_args()
    if not wishes.corpus.is_file():
        sys.exit(f"{wishes.corpus} is not there: name a corpus file")
    records = read_records(wishes.corpus)
    for title, exit_codes in (("with exit codes", True), ("without exit codes", False)):
        result = score(records, exit_codes=exit_codes)
        sys.stdout.write(
            "\n".join([f"== {title}", *result.lines(), *(result.wrong if wishes.wrong else ()), ""])
        )


if __name__ == "__main__":
    main()
