"""
What a hook call takes under load: `python tests/bench/load.py`.

A real daemon on a home with many events, 50 open sessions, 25 hook calls a second at random moments. The load
comes from a process and a core of its own, which speaks the hook client's protocol. A call's time runs from
the moment at which it was planned, so that one slow call is counted against those that wait behind it.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_work import AgentWork
from filled_home import fill, fold_views

from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler.home import HOME_VARIABLE, Home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_work import HookMoment

SESSIONS = 50
CALLS_PER_S = 25
SECONDS = 60
EVENTS_FEW = 1_000
EVENTS_MANY = 1_000_000
# One after the other without a pause, which tells what the pauses cost: caches are cold after each.
BUSY_CALLS = 500
# A machine that does other things as well is calm in one of three runs.
REPEATS = 3
# Sleeping is precise to a tenth of a millisecond only; the rest is waited for in a loop.
AWAKE_BEFORE_S = 0.002
START_S_MAX = 30
SEED = 20_260_105

GOES_FIRST = "TOKENECONOMIZER_BENCH_FIRST" in os.environ

# What the daemon starts when a view's schema changed, over and over.
REBUILD = """
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.rebuild_views import main

while True:
    main([projection.NAME for projection in PROJECTIONS])
"""


@dataclass(frozen=True, slots=True)
class Planned:
    """One call of the plan: when, in seconds from the start, of which session, and what."""

    at_s: float
    session: int
    moment: HookMoment


def works(folder: Path, seed: int) -> list[AgentWork]:
    """Return the work of all sessions."""
    chance = random.Random(seed)  # noqa: S311 - work drawn by chance, no secret
    return [
        AgentWork(random.Random(chance.random()), f"load-{seed}-{number:03}", folder / f"{number}.jsonl")  # noqa: S311
        for number in range(SESSIONS)
    ]


def plan(sessions: list[AgentWork], seconds: float, seed: int) -> list[Planned]:
    """Draw the moments and what happens at each."""
    chance = random.Random(seed)  # noqa: S311 - moments drawn by chance, no secret
    turns = [work.turns() for work in sessions]
    planned: list[Planned] = []
    at_s = chance.expovariate(CALLS_PER_S)
    while at_s < seconds:
        session = chance.randrange(SESSIONS)
        planned.append(Planned(at_s, session, next(turns[session])))
        at_s += chance.expovariate(CALLS_PER_S)
    return planned


def request_of(moment: HookMoment) -> bytes:
    """Return what the hook client would send now."""
    return wire.encode_request(
        "hook",
        host="claude_code",
        event=moment.event,
        via="plugin",
        time_ns=time.time_ns(),
        delivery_id=os.urandom(16).hex(),
        payload=moment.payload,
    )


def round_trip(home: Home, request: bytes) -> bytes:
    """Connect, send a request and return the reply, as the client does; the working folder is the home."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(home.socket.name)
        connection.sendall(request)
        received = b""
        while b"\n" not in received:
            received += _received(connection)
        line, _, reply = received.partition(b"\n")
        length = wire.parse_reply_header(line + b"\n").reply_length
        while len(reply) < length:
            reply += _received(connection)
        if length > len(b"{}"):
            connection.sendall(wire.CONFIRMATION)
    return reply


def _received(connection: socket.socket) -> bytes:
    chunk = connection.recv(65_536)
    if not chunk:
        message = "the daemon closed a connection without a reply: its log tells why"
        raise SystemExit(message)
    return chunk


def drive(home: Home, folder: Path, seconds: float, seed: int) -> dict[str, object]:
    """Make all calls of a plan and return their figures; run in a process of its own."""
    os.chdir(home.root)
    sessions = works(folder, seed)
    for work in sessions:
        work.fill_log()
        for moment in work.begin():
            round_trip(home, request_of(moment))
    planned = plan(sessions, seconds, seed)
    gc.collect()
    gc.disable()
    times_ms, spoken = [], 0
    start = time.perf_counter() + 0.1
    for call in planned:
        # The agent has written its own log by the time it calls its hooks.
        if call.moment.log_lines:
            with (folder / f"{call.session}.jsonl").open("ab") as log:
                log.write(call.moment.log_lines)
        request = request_of(call.moment)
        _wait_until(start + call.at_s)
        spoken += len(round_trip(home, request)) > len(b"{}")
        times_ms.append((time.perf_counter() - start - call.at_s) * 1_000)
    cuts = statistics.quantiles(times_ms, n=100)
    busy_ms = []
    for call in plan(sessions, BUSY_CALLS / CALLS_PER_S, seed + 1):
        request = request_of(call.moment)
        start = time.perf_counter()
        round_trip(home, request)
        busy_ms.append((time.perf_counter() - start) * 1_000)
    return {
        "calls": len(planned),
        "spoken": spoken,
        "payload_bytes_p50": statistics.median(len(call.moment.payload) for call in planned),
        "payload_bytes_p95": round(statistics.quantiles((len(c.moment.payload) for c in planned), n=20)[-1]),
        "p50_ms": round(cuts[49], 3),
        "p90_ms": round(cuts[89], 3),
        "p99_ms": round(cuts[98], 3),
        "max_ms": round(max(times_ms), 3),
        "busy_p50_ms": round(statistics.median(busy_ms), 3),
    }


def _wait_until(moment: float) -> None:
    left = moment - time.perf_counter()
    if left > AWAKE_BEFORE_S:
        time.sleep(left - AWAKE_BEFORE_S)
    while time.perf_counter() < moment:
        pass


def use_core(number: int | None) -> None:
    """
    Keep this process to one core, if one is named and where the system knows how.

    With TOKENECONOMIZER_BENCH_FIRST set it also goes before all other work, so that a machine on which others
    work as well can be measured; only root may ask for that.
    """
    if number is None or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})
    if GOES_FIRST:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@contextmanager
def daemon(home: Home, *, core: int | None = None) -> Iterator[int]:
    """Serve the home by the real daemon, on one core if named; yields its process id."""
    environment = {"PATH": os.defpath, "HOME": str(home.root.parent), HOME_VARIABLE: str(home.root)}
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "tokeneconomizer.scheduler.daemon"],
        env=environment,
        preexec_fn=lambda: use_core(core),  # noqa: PLW1509 - no thread was started
    )
    try:
        limit = time.monotonic() + START_S_MAX
        while not home.socket.exists():
            if process.poll() is not None or time.monotonic() > limit:
                message = f"the daemon does not start: {home.log} tells why"
                raise SystemExit(message)
            time.sleep(0.05)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextmanager
def rebuilding(home: Home) -> Iterator[None]:
    """Rebuild all views over and over as the daemon has it done, on whatever core is free."""
    environment = {"PATH": os.defpath, "HOME": str(home.root.parent), HOME_VARIABLE: str(home.root)}
    process = subprocess.Popen([sys.executable, "-I", "-c", REBUILD], env=environment)
    try:
        yield
        if process.poll() is not None:
            message = "the rebuild ended by itself: its words are above"
            raise SystemExit(message)
    finally:
        process.kill()
        process.wait()


@contextmanager
def echo(home: Home) -> Iterator[None]:
    """Answer every call at once and do nothing: what the machine itself takes to wake a process."""
    listener = socket.socket(socket.AF_UNIX)
    before = Path.cwd()
    os.chdir(home.root)
    listener.bind(home.socket.name)
    os.chdir(before)
    listener.listen()
    process_id = os.fork()
    if process_id == 0:
        use_core(0)
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                stream.read(sum(map(int, stream.readline().split()[-2:])))
                connection.sendall(b"TE1 echo 2\n{}")
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGKILL)
        os.waitpid(process_id, 0)
        listener.close()
        home.socket.unlink()


def driven(home: Home, folder: Path, seconds: float, seed: int) -> dict[str, object]:
    """Run `drive` in a process of its own, on the core that the daemon does not have."""
    logs = folder / f"logs-{seed}"
    logs.mkdir()
    command = [
        sys.executable,
        str(Path(__file__)),
        "drive",
        str(home.root),
        str(logs),
        str(seconds),
        str(seed),
    ]
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        preexec_fn=lambda: use_core(1),
    )
    shutil.rmtree(logs)
    figures: dict[str, object] = json.loads(done.stdout)
    return figures


def best(runs: list[dict[str, object]]) -> dict[str, object]:
    """Return the calmest run, with the 99th percentiles of all."""
    calmest = min(runs, key=lambda run: float(str(run["p99_ms"])))
    return {**calmest, "p99_ms_of_runs": [run["p99_ms"] for run in runs]}


def measure(
    root: Path, *, many: int = EVENTS_MANY, seconds: float = SECONDS, repeats: int = REPEATS
) -> dict[str, object]:
    """Measure with few and with many events by turns, and with many while all views are rebuilt."""
    homes = {"few": Home(root / "few"), "many": Home(root / "many")}
    silent = Home(root / "echo")
    silent.create()
    fill(homes["few"], EVENTS_FEW)
    fill(homes["many"], many)
    runs: dict[str, list[dict[str, object]]] = {"echo": [], "few": [], "many": [], "rebuild": []}
    for repeat in range(repeats):
        seed = SEED + repeat
        with echo(silent):
            runs["echo"].append(driven(silent, root, seconds, seed))
        for name, home in homes.items():
            with daemon(home, core=0):
                runs[name].append(driven(home, root, seconds, seed))
        with daemon(homes["many"], core=0), rebuilding(homes["many"]):
            runs["rebuild"].append(driven(homes["many"], root, seconds, seed + repeats))
        fold_views(homes["many"])
    figures = {name: best(of_kind) for name, of_kind in runs.items()}
    p99 = {name: float(str(of_kind["p99_ms"])) for name, of_kind in figures.items()}
    p50 = {name: float(str(of_kind["p50_ms"])) for name, of_kind in figures.items()}
    return {
        "events_few": EVENTS_FEW,
        "events_many": many,
        **figures,
        "ratio_echo_p50": round(p50["few"] / p50["echo"], 3),
        "ratio_many_p50": round(p50["many"] / p50["few"], 3),
        "ratio_many_p99": round(p99["many"] / p99["few"], 3),
        "ratio_rebuild_p99": round(p99["rebuild"] / p99["many"], 3),
    }


def main() -> None:
    """Measure, or be the process that makes the load."""
    if sys.argv[1:2] == ["drive"]:
        home, logs, seconds, seed = sys.argv[2:]
        figures = drive(Home(Path(home)), Path(logs), float(seconds), int(seed))
    else:
        with tempfile.TemporaryDirectory() as folder:
            figures = measure(Path(folder))
    print(json.dumps(figures))  # noqa: T201 - its output


if __name__ == "__main__":
    main()
