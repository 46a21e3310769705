"""
The event library's own contract for stores with positions, run on our recorder.

Its contract for stores without positions fits neither of ours: one returns positions, the other keeps a
stream's newest snapshot only.
"""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from tokeneconomizer.scheduler.store import ChainedRecorder, EventStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _without_ciphers() -> dict[str, ModuleType]:
    """The contract's module imports an optional cipher, which these tests never use."""
    module = ModuleType("eventsourcing.cipher")
    vars(module)["AESCipher"] = type("AESCipher", (), {})
    return {module.__name__: module}


with mock.patch.dict(sys.modules, _without_ciphers()):
    from eventsourcing.tests import persistence as contract


READERS_END_S_MAX = 30


class TestApplicationRecorder(contract.ApplicationRecorderTestCase[ChainedRecorder]):
    # These two measure: speed is `make bench`'s.
    test_concurrent_throughput = None
    test_performance = None

    @pytest.fixture(autouse=True)
    def _open(self, tmp_path: Path) -> Iterator[None]:
        before = set(threading.enumerate())
        self._store = EventStore(tmp_path / "events.db", b"a key for tests")
        yield
        # The library's tests leave readers behind; one that reads on while its store closes ends the process.
        for thread in set(threading.enumerate()) - before:
            thread.join(READERS_END_S_MAX)
        self._store.close()

    def create_recorder(self) -> ChainedRecorder:
        recorder = self._store.recorder
        assert isinstance(recorder, ChainedRecorder)
        return recorder
