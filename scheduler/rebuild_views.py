"""
The child process that rebuilds views: `python -I -m tokeneconomizer.scheduler.rebuild_views NAME…`.

It may be killed at any moment: until its last step the old file answers, and the next run begins anew.
"""

from __future__ import annotations

import os
import sys

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections.errors import RebuildRunning
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import rebuild
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.child import EXIT_BUSY, EXIT_FAILED, LOWEST_PRIORITY
from tokeneconomizer.scheduler.home import Home


def main(names: list[str]) -> int:
    """Rebuild the views of these names in the home that the environment names; return the exit status."""
    os.nice(LOWEST_PRIORITY)
    os.umask(0o077)
    home = Home.from_environment()
    status = 0
    with EventLog(home.events) as log:
        for projection in PROJECTIONS:
            if projection.NAME not in names:
                continue
            try:
                rebuild(log, home.views, projection)
            except RebuildRunning:
                status = status or EXIT_BUSY
            except TokeneconomizerError as error:
                sys.stderr.write(f"{error}\n")
                status = EXIT_FAILED
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
