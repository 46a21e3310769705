"""
The ledger of runs with a real agent: one row a scenario run, in docs/smoke-ledger.md.

Written only with TOKENECONOMIZER_SMOKE_LEDGER=1, so that a run elsewhere leaves the checkout as it was.
"""

import fcntl
import os
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

LEDGER_PATH = Path(__file__).resolve().parents[2] / "docs" / "smoke-ledger.md"
SWITCH = "TOKENECONOMIZER_SMOKE_LEDGER"
COLUMNS = ("Date", "Agent", "Version", "Scenario", "Result", "What was stored")
HEAD = f"""# Smoke ledger

Runs of real agents against the scripted model server; `make test-agents` adds the rows.

| {" | ".join(COLUMNS)} |
| {" | ".join("---" for _ in COLUMNS)} |
"""


@dataclass(frozen=True)
class LedgerRow:
    """One scenario run: which agent, what came of it, what our store held afterwards."""

    agent: str
    version: str
    scenario: str
    result: str
    stored: str


def add_row(row: LedgerRow, *, path: Path = LEDGER_PATH, day: date | None = None) -> bool:
    """Append the row, with the head if the file is new; False when the ledger is switched off."""
    if os.environ.get(SWITCH) != "1":
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as ledger:
        # Scenarios may run in several processes at once.
        fcntl.flock(ledger, fcntl.LOCK_EX)
        ledger.seek(0)
        text = ledger.read()
        missing_newline = "\n" if text and not text.endswith("\n") else ""
        ledger.write(("" if text else HEAD) + missing_newline + _line(row, day or datetime.now(UTC).date()))
    return True


def _line(row: LedgerRow, day: date) -> str:
    cells = (day.isoformat(), row.agent, row.version, row.scenario, row.result, row.stored)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
