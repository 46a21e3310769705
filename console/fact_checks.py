"""What `te doctor` looks at of the facts: whether a start without a daemon would find them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.console.checks import Check, ok, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.console.checks import Finding, Patient


def look_at_facts(patient: Patient) -> Iterator[Finding]:
    """See that what leads from checkouts to their blocks can be read, and leads somewhere."""
    home = patient.home
    if not home.starts.exists():
        yield ok("no repository's facts were told yet")
        return
    advice = f"remove {home.starts}: the daemon writes it again when the next session is archived"
    try:
        starts = json.loads(home.starts.read_bytes())["checkouts"]
        files = {name for known in starts.values() for name in known.values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield problem(f"{home.starts} cannot be read ({error})", advice)
        return
    missing = [name for name in files if not (home.repositories / name).is_file()]
    if missing:
        yield problem(f"{len(missing)} blocks of facts are not where {home.starts} says", advice)
    else:
        yield ok(f"{len(starts)} checkouts are told facts, also while no daemon answers")


FACT_CHECKS = (Check("facts", ("repositories", "starts"), look_at_facts),)
