"""A process is killed at each kill point; what was promised before holds afterwards (S1.1, S2.10, S2.12)."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from history import History
from hook_payloads import failing_step
from kill_points import KILL_POINTS, KillPoint
from killing import Where
from simulated_agents import Agents
from simulated_daemon import Daemon
from simulator import MEMORY_FOLDER
from workbench import rows_of, spooled_file

from tokeneconomizer.domain.commands import SessionKey
from tokeneconomizer.domain.session import Session
from tokeneconomizer.hosts.claude_code import installation
from tokeneconomizer.projections.switch import rebuild, verify
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.hook_calls import HookCall

DRIVER = Path(__file__).with_name("driver.py")
STREAM = Session.stream_id(SessionKey("claude_code", "session-1")).hex
USERS_SETTINGS = b'{\r\n\t"model": "sonnet",   "big": 12345678901234567890\r\n}'
BEGAN = datetime.now(UTC) - timedelta(minutes=5)


class Driver:
    """The process that forks the children."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(
        self, place: Path, work: str = "", daemon: str = "", traps: Mapping[str, Where] | None = None
    ) -> list[dict[str, object]]:
        trapped = {process: vars(where) for process, where in (traps or {}).items()}
        request = {"place": str(place), "work": work, "daemon": daemon, "traps": trapped}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        ended: list[dict[str, object]] = json.loads(self.process.stdout.readline())
        return ended

    def run_to_its_end(self, place: Path, work: str = "", daemon: str = "") -> None:
        for ended in self.run(place, work, daemon):
            assert ended["status"] == 0, (place / "output").read_text()

    def close(self) -> None:
        self.process.communicate()


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    started = Driver()
    yield started
    started.close()


@pytest.fixture(scope="module")
def lived_in() -> Iterator[Path]:
    """A place whose home has the begin of a turn that goes in circles, and views that are behind."""
    with tempfile.TemporaryDirectory(prefix="te-", dir=MEMORY_FOLDER) as folder:
        place = Path(folder)
        make_user(place)
        home = Home(place / "home")
        home.create()
        house = Daemon(home, lambda: BEGAN)
        for number, data in enumerate([data for call in ("a", "b") for data in failing_step(call)]):
            time_ns = int((BEGAN + timedelta(seconds=number)).timestamp()) * 1_000_000_000
            house.calls.answer(HookCall("claude_code", "", "plugin", time_ns, f"{number:032x}", data))
        for sent in Agents().send(2, 0, "succeed"):
            time_ns = int(BEGAN.timestamp()) * 1_000_000_000
            house.calls.answer(HookCall("claude_code", "", "plugin", time_ns, "e" * 32, sent.payload))
        house.close()
        (place / "payload").write_bytes(failing_step("c")[1])
        yield place


@pytest.fixture
def place(lived_in: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="te-", dir=MEMORY_FOLDER) as folder:
        shutil.copytree(lived_in, folder, dirs_exist_ok=True)
        yield Path(folder)


def make_user(place: Path) -> None:
    agents_folder = place / "user" / installation.CONFIG_FOLDER
    agents_folder.mkdir(parents=True)
    (agents_folder / installation.SETTINGS_FILE).write_bytes(USERS_SETTINGS)


@pytest.mark.parametrize("point", KILL_POINTS, ids=str)
def test_after_a_kill_what_was_promised_holds(point: KillPoint, driver: Driver, place: Path) -> None:
    before, after = PARTS[point.part]
    before(place, driver)
    ended = driver.run(place, point.work, point.daemon, {point.process: point.where})
    killed = ended[0] if point.process == "work" else ended[-1]
    assert killed == {"status": -signal.SIGKILL, "killed_at": str(point.where)}, (
        place / "output"
    ).read_text()
    after(place, driver, point)


def test_every_kill_point_is_another_moment() -> None:
    assert len({str(point) for point in KILL_POINTS}) == len(KILL_POINTS)
    assert len({(point.part, point.work, point.where) for point in KILL_POINTS}) == len(KILL_POINTS)


def restarted(place: Path) -> History:
    """Have a daemon's parts come up again, drain and fold; the whole log in order."""
    home = Home(place / "home")
    home.create()
    for unfinished in home.spool.glob(".*"):
        # A minute later.
        os.utime(unfinished, (0, 0))
    history = History(home.events, home.key())
    history.take()
    house = Daemon(home, lambda: datetime.now(UTC))
    try:
        house.live.drain()
        house.fold(batch=1_000, batches=1_000)
        for projection in PROJECTIONS:
            assert verify(house.events, home.views, projection).is_equal
    finally:
        house.close()
    history.take()
    assert not list(home.spool.iterdir()), "something is left in the spool"
    assert not home.kept.exists() or not home.kept.read_bytes(), "something is still kept"
    return history


def nothing(_place: Path, _driver: Driver) -> None:
    pass


# One hook call.


def one_call_holds(place: Path, _driver: Driver, point: KillPoint) -> None:
    assert point.holds is not None
    reply = place / "reply"
    answer = reply.read_bytes() if reply.exists() else b""
    assert bool(answer) is point.holds.answered
    if answer:
        json.loads(answer)
    stream = restarted(place).streams[STREAM]
    assert ("c" in stream.returned) is point.holds.stored
    assert bool(stream.said) is point.holds.said


# The daemon's parts.


def every_acknowledged_call_is_stored(place: Path, _driver: Driver, _point: KillPoint) -> None:
    lines = (place / "acknowledged").read_text().splitlines()
    history = restarted(place)
    assert lines
    for line in lines:
        stream, delivery_id = json.loads(line)
        assert delivery_id in history.streams[stream].deliveries


def spool_two(place: Path, _driver: Driver) -> None:
    for number, call in enumerate(("c", "d")):
        time_ns = int((BEGAN + timedelta(minutes=1 + number)).timestamp()) * 1_000_000_000
        spooled_file(Home(place / "home"), failing_step(call)[1], time_ns=time_ns)


def both_are_stored(place: Path, driver: Driver, _point: KillPoint) -> None:
    driver.run_to_its_end(place, daemon="daemon until idle")
    stream = restarted(place).streams[STREAM]
    assert list(stream.returned) == ["a", "b", "c", "d"]


def views_equal_a_rebuild(place: Path, _driver: Driver, _point: KillPoint) -> None:
    restarted(place)


def fold_all(place: Path, _driver: Driver) -> None:
    restarted(place)


def a_view_answers_and_the_next_rebuild_clears_up(place: Path, _driver: Driver, _point: KillPoint) -> None:
    restarted(place)
    home = Home(place / "home")
    house = Daemon(home, lambda: datetime.now(UTC))
    try:
        for projection in PROJECTIONS:
            rebuild(house.events, home.views, projection)
    finally:
        house.close()
    kept = {".current", ".db", ".lock"}
    left = [path.name for path in home.views.iterdir() if path.suffix not in kept]
    assert not [name for name in left if not name.endswith(("-wal", "-shm"))]
    assert len(list(home.views.glob("*.db"))) == len(PROJECTIONS)


# The daemon's life.


def leave_nothing(place: Path, _driver: Driver) -> None:
    shutil.rmtree(place / "home")


def the_next_daemon_serves(place: Path, driver: Driver, _point: KillPoint) -> None:
    driver.run_to_its_end(place, work="hook", daemon="daemon")
    reply = json.loads((place / "reply").read_bytes())
    stream = restarted(place).streams[STREAM]
    assert "c" in stream.returned
    assert bool(reply) is bool(stream.said)
    home = Home(place / "home")
    assert not list(home.spool.iterdir())
    assert not home.socket.exists()


# The user's files.


def config_is_whole_and_told(place: Path, driver: Driver, _point: KillPoint) -> None:
    config = place / "home" / "config.yaml"
    assert not config.exists() or config.read_text().endswith("loopguard: off\n".replace('"', ""))
    driver.run_to_its_end(place, "te config set")
    driver.run_to_its_end(place, daemon="daemon until idle")
    assert "loopguard" in config.read_text()
    history = restarted(place)
    assert history.counts["setup.policy_set"] == 1
    assert not temporaries(place)


def settings_of(place: Path) -> bytes:
    return (place / "user" / installation.CONFIG_FOLDER / installation.SETTINGS_FILE).read_bytes()


def temporaries(place: Path) -> list[Path]:
    return [path for path in place.rglob(".*") if "tokeneconomizer-" in path.name]


def setup_actions(place: Path) -> list[str]:
    """What the log tells; after a kill between telling and forgetting it tells one action twice."""
    restarted(place)
    query = "SELECT CAST(state AS TEXT) FROM stored_events WHERE topic = 'setup.changed' ORDER BY rowid"
    rows = rows_of(place / "home" / "events.db", query)
    return [json.loads(str(state))["action"] for (state,) in rows]


def set_up(place: Path, driver: Driver) -> None:
    driver.run_to_its_end(place, "te setup")


def setup_converges_and_gives_the_bytes_back(place: Path, driver: Driver, point: KillPoint) -> None:
    found = settings_of(place)
    if point.part == "setup":
        driver.run_to_its_end(place, "te setup")
        assert found in {USERS_SETTINGS, settings_of(place)}
        assert set(setup_actions(place)) == {"install"}
    else:
        assert found == USERS_SETTINGS or json.loads(found)["enabledPlugins"]
    driver.run_to_its_end(place, "te setup --uninstall")
    assert settings_of(place) == USERS_SETTINGS
    assert sorted(path.name for path in (place / "user").rglob("*")) == [".claude", "settings.json"]
    assert not list((place / "home" / "plugins").iterdir())
    assert list(dict.fromkeys(setup_actions(place))) == ["install", "uninstall"]
    assert not (place / "home" / "untold.json").exists()
    assert not temporaries(place)


PARTS: dict[str, tuple[Callable[[Path, Driver], None], Callable[[Path, Driver, KillPoint], None]]] = {
    "hook without daemon": (nothing, one_call_holds),
    "hook": (nothing, one_call_holds),
    "daemon": (nothing, one_call_holds),
    "save": (nothing, every_acknowledged_call_is_stored),
    "spool": (spool_two, both_are_stored),
    "projection": (nothing, views_equal_a_rebuild),
    "view switch": (fold_all, a_view_answers_and_the_next_rebuild_clears_up),
    "config": (nothing, config_is_whole_and_told),
    "setup": (nothing, setup_converges_and_gives_the_bytes_back),
    "uninstall": (set_up, setup_converges_and_gives_the_bytes_back),
    "start": (leave_nothing, the_next_daemon_serves),
    "stop": (nothing, the_next_daemon_serves),
}
