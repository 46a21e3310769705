"""
A checkout in which somebody swaps a file or a folder for a link between two system calls of the writer.

Whatever happens, nothing outside of the checkout may change, and nothing of the user's may be lost in it.
"""

from __future__ import annotations

import os
import random
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokeneconomizer.writers import replacing
from tokeneconomizer.writers.edits import AddElement
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.guarded_write import Surroundings, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.strict_json import STRICT_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CALLS = (
    *("open", "stat", "lstat", "readlink", "mkdir", "rename", "replace", "link", "unlink", "rmdir"),
    *("listdir", "access", "fstat", "fsync", "fchmod", "fchown", "write", "dup", "close"),
)
"""Of `os`, by which the writer reaches the file system; the exchange of two names is the one beside them."""

EDITS = [AddElement(("permissions", "deny"), "Workflow")]
THEIRS = b'{"theirs": 1}'
OUTSIDE = b'{"outside": 1}'
CALLS_MAX = 60
"""A write makes some fifty calls."""


@dataclass
class Swapper:
    """Does its actions before the calls of these numbers."""

    actions: dict[int, Callable[[], None]]
    calls: int = 0
    is_acting: bool = False

    def before_call(self) -> None:
        """Count a call, and act when its number is up."""
        if self.is_acting:
            return
        self.calls += 1
        action = self.actions.get(self.calls)
        if action is not None:
            self.is_acting = True
            # What is no longer there cannot be swapped.
            with suppress(OSError):
                action()
            self.is_acting = False


@contextmanager
def between_calls(swapper: Swapper) -> Iterator[None]:
    """Let the swapper come before every call of the writer."""
    real: dict[str, Any] = {name: getattr(os, name) for name in CALLS}
    real_exchange = replacing.exchange

    def wrapped(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **more: object) -> object:
            swapper.before_call()
            return call(*arguments, **more)

        return counted

    for name, call in real.items():
        setattr(os, name, wrapped(call))
    replacing.exchange = wrapped(real_exchange)  # type: ignore[assignment] - the same with a count
    try:
        yield
    finally:
        replacing.exchange = real_exchange
        for name, call in real.items():
            setattr(os, name, call)


@dataclass
class Ground:
    """The checkout with its file, and what lies outside."""

    folder: Path
    has_file: bool

    def __post_init__(self) -> None:
        self.checkout = self.folder / "checkout"
        self.outside = self.folder / "outside"
        self.agent = self.checkout / ".claude"
        self.file = self.agent / "settings.local.json"
        self.outside.mkdir(parents=True)
        (self.outside / ".claude").mkdir()
        for path in (self.outside / "settings.local.json", self.outside / ".claude" / "settings.local.json"):
            path.write_bytes(OUTSIDE)
        self.checkout.mkdir()
        if self.has_file:
            self.agent.mkdir()
            self.file.write_bytes(THEIRS)

    def swaps(self) -> list[Callable[[], None]]:
        """What may happen between two calls."""
        return [
            lambda: self._swap(self.file, self.outside / "settings.local.json"),
            lambda: self._swap(self.agent, self.outside),
            lambda: self._swap(self.checkout, self.outside, self.folder / "moved"),
            lambda: self._swap_back(self.file),
            lambda: self._swap_back(self.agent),
            lambda: self._swap_back(self.checkout, self.folder / "moved"),
        ]

    def _swap(self, path: Path, target: Path, aside: Path | None = None) -> None:
        if path.is_symlink() or _is_behind_a_link(path):
            return
        if path.exists():
            path.rename(aside or path.with_name(f"{path.name}.aside"))
        path.symlink_to(target)

    def _swap_back(self, path: Path, aside: Path | None = None) -> None:
        if not path.is_symlink() or _is_behind_a_link(path):
            return
        path.unlink()
        away = aside or path.with_name(f"{path.name}.aside")
        if away.exists():
            away.rename(path)

    def outside_now(self) -> dict[str, tuple[int, bytes]]:
        """All there is outside, with its contents, and when it was last changed, if only for a moment."""
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in (self.outside, *self.outside.rglob("*"))
        }

    def contents_inside(self) -> list[bytes]:
        """The contents of all files of the checkout, wherever they were moved."""
        roots = [path for path in (self.checkout, self.folder / "moved") if not path.is_symlink()]
        files = [path for root in roots for path in root.rglob("*") if not path.is_symlink()]
        return [path.read_bytes() for path in files if path.is_file()]


def _is_behind_a_link(path: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents)


def run(folder: Path, swaps: int, seed: int) -> None:
    """Write and take back, with so many swaps in all; raise at the first thing that does not hold."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    done = attempt = 0
    while done < swaps:
        attempt += 1
        ground = Ground(folder / str(attempt), has_file=chance.random() < 0.7)
        before = ground.outside_now()
        numbers = chance.sample(range(1, CALLS_MAX), chance.randint(1, 4))
        swapper = Swapper({number: chance.choice(ground.swaps()) for number in numbers})
        _write_and_take_back(ground, swapper)
        done += sum(number <= swapper.calls for number in numbers)
        assert ground.outside_now() == before, f"attempt {attempt} of seed {seed} wrote outside"
        inside = ground.contents_inside()
        if ground.has_file:
            assert any(b'"theirs": 1' in data for data in inside), f"attempt {attempt} of seed {seed} lost"
        names = [path.name for path in ground.folder.rglob("*")]
        assert not any("tokeneconomizer-" in name for name in names), f"{names} in {attempt} of seed {seed}"
        shutil.rmtree(ground.folder)


def _write_and_take_back(ground: Ground, swapper: Swapper) -> None:
    place = Place(ground.checkout, ground.file)
    untracked = Surroundings(is_tracked=lambda _file: False)
    with between_calls(swapper), suppress(WriteRefused):
        outcome = write_edits(place, EDITS, STRICT_JSON, untracked)
        if outcome.applied is not None:
            restore(place, outcome.applied, STRICT_JSON, untracked)
