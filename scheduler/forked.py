"""Work done beside this process, in a copy of it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def forked(work: Callable[[], bytes]) -> Iterator[Callable[[], bytes | None]]:
    """
    Do work in a fork of this process, which must have no other threads.

    Yields:
        what waits for the fork and returns what the work came to; None when it failed.

    """
    reading, writing = os.pipe()
    process_id = os.fork()
    if process_id == 0:
        # Else it would wait for itself to read, if this process is gone.
        os.close(reading)
        _work_and_leave(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        is_over = False

        def result() -> bytes | None:
            nonlocal is_over
            found = pipe.read()
            _, status = os.waitpid(process_id, 0)
            is_over = True
            return found if status == 0 else None

        yield result
    if not is_over:
        os.waitpid(process_id, 0)


def _work_and_leave(work: Callable[[], bytes], writing: int) -> None:
    """Write what the work comes to, and end without what this process has to do at its own end."""
    status = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(work())
        status = 0
    finally:
        os._exit(status)
