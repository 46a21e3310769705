"""Which versions of an agent are doubted."""

from __future__ import annotations

import pytest

from tokeneconomizer.hosts.measured import Measured

EXACT = Measured((1, 0, 102), (1, 0, 102))
RANGE = Measured((0, 164, 0), (0, 171, 0))
OPEN = Measured((2, 1, 310), lost="no redirects")
MAJOR = Measured((1, 18, 33), (1,))


@pytest.mark.parametrize(
    ("measured", "printed", "doubt"),
    [
        (EXACT, "GitHub Copilot CLI 1.0.102.", ""),
        (EXACT, "", ""),
        (EXACT, "no number", ""),
        (EXACT, "GitHub Copilot CLI 1.0.103.", "1.0.103 is newer than 1.0.102, the newest that was tried"),
        (EXACT, "0.0.400", "0.0.400 is older than 1.0.102, the oldest that was tried"),
        (RANGE, "codex-cli 0.165.9", ""),
        (RANGE, "codex-cli 0.171.0", ""),
        (RANGE, "codex-cli 0.171.1", "0.171.1 is newer than 0.171.0, the newest that was tried"),
        (RANGE, "codex-cli 1.0.0", "1.0.0 is newer than 0.171.0, the newest that was tried"),
        (OPEN, "9.0.0 (Claude Code)", ""),
        (
            OPEN,
            "2.1.99 (Claude Code)",
            "2.1.99 is older than 2.1.310, the oldest that was tried (no redirects)",
        ),
        (MAJOR, "1.99.0", ""),
        (MAJOR, "2.0.18", "2.0.18 is newer than 1.x, the newest that was tried"),
    ],
)
def test_a_version_that_was_not_tried_is_told_with_the_nearest_that_was(
    measured: Measured, printed: str, doubt: str
) -> None:
    assert measured.doubt(printed) == doubt
