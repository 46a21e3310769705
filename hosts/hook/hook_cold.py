"""
The cold path of the hook client, imported only when the daemon did not answer.

It keeps the payload in the spool for the next daemon, writes a line to `log/hook.log`, and starts a daemon.
Like the fast path it runs under `python -I -S` and may be imported by path or as a module of the package.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from tokeneconomizer.hosts.hook.te_hook_core import Call
else:
    import _signal  # the builtin part: `signal` makes enumerations first

# The only events that are answered with more than nothing.
SESSION_START_EVENTS = ("SessionStart", "sessionStart", "session_start")
# A crowd of sessions that finds no daemon must not start a crowd of daemons; one has long been up by then.
DAEMON_START_INTERVAL_S = 5
# Weeks of work without a daemon. Beyond these the disk is worth more than the history.
SPOOL_FILES_MAX = 10_000
SPOOL_BYTES_MAX = 256 * 1024 * 1024
# Thousands of failures: enough to see what is wrong. One older file is kept.
LOG_BYTES_MAX = 1024 * 1024
# Where descriptors cannot be listed: the usual limit of open files.
DESCRIPTORS_WITHOUT_LISTING = 1024
# The stamp holds one number.
STAMP_BYTES_MAX = 32
NANOSECONDS_PER_SECOND = 1_000_000_000

DAEMON_COMMAND = [sys.executable, "-I", "-m", "tokeneconomizer.scheduler.daemon"]

# What a daemon needs to find its state and its programs. Keys reach it only through the socket.
DAEMON_ENVIRONMENT_NAMES = (b"HOME", b"PATH", b"LANG", b"LC_ALL", b"TMPDIR", b"GIT_CEILING_DIRECTORIES")


class SpoolFullError(Exception):
    """The spool holds as much as it may; the daemon has to be started to empty it."""


def keep(call: "Call", error: BaseException) -> bytes:
    """Return the reply to give; spool the payload with it, and log why. Needs a home that is ours."""
    _enter_home(call.home)
    if type(error).__name__ == "DeadlineError":
        _mark_as_slow()
    failures = [error]
    reply = _reply_from_disk(call, failures)
    payload = b"".join(call.chunks)
    # Of an oversized payload nothing is kept, and an empty one names no session.
    if payload:
        try:
            _spool(call, reply, payload)
        except Exception as spool_error:
            # What is not kept is not given: each injection is an event.
            reply = call.empty_reply
            failures.append(spool_error)
    _log(call, failures)
    return reply


def _reply_from_disk(call: "Call", failures: list[BaseException]) -> bytes:
    if call.event not in SESSION_START_EVENTS or call.oversize:
        return call.empty_reply
    try:
        if TYPE_CHECKING or __package__:
            from tokeneconomizer.hosts.hook import hook_facts  # noqa: PLC0415 - for starts only
        else:
            import hook_facts  # noqa: PLC0415 - as above
        return hook_facts.reply_to(call) or call.empty_reply
    except FileNotFoundError:
        return call.empty_reply
    except Exception as facts_error:
        failures.append(facts_error)
        return call.empty_reply


def start_daemon_once(home: bytes) -> None:
    """Start the daemon, unless any hook has done so within DAEMON_START_INTERVAL_S."""
    _enter_home(home)
    if take_turn_to_start(time.time_ns()):
        start_daemon(home, DAEMON_COMMAND)


def take_over(home: bytes, daemon_version: bytes, program_version: bytes) -> None:
    """Have an older daemon leave and start this program's own, once among all hooks."""
    if not is_older(daemon_version, program_version):
        return
    _enter_home(home)
    if take_turn_to_start(time.time_ns()):
        _ask_to_stop()
        # The new one waits for the lock until the old one has finished what it is at.
        start_daemon(home, DAEMON_COMMAND)


def is_older(daemon_version: bytes, program_version: bytes) -> bool:
    """Compare the numbers; a version that is none is left alone, as a newer program's may be."""
    try:
        daemon, program = (
            [int(part) for part in version.split(b".")] for version in (daemon_version, program_version)
        )
    except ValueError:
        return False
    return daemon < program


def _ask_to_stop() -> None:
    import socket  # noqa: PLC0415 - only after an upgrade

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect("daemon.sock")
        connection.sendall(f"TE1 stop - - - {time.time_ns()} {os.urandom(16).hex()} 0 0\n".encode("ascii"))
        connection.recv(1)


def take_turn_to_start(now_ns: int) -> bool:
    """
    Tell whether this hook is the one of all hooks that may start a daemon now; the folder is the home.

    The lock makes one of those that come at once the first; the time inside, not the file's, tells an empty
    new stamp from a recent one. A stamp from the future means that the clock was set back.
    """
    descriptor = os.open("daemon.starting", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.lockf(descriptor, os.F_TLOCK, 1)
        stamp = os.pread(descriptor, STAMP_BYTES_MAX, 0).strip()
        age_ns = now_ns - int(stamp) if stamp.isdigit() else -1
        if 0 <= age_ns < DAEMON_START_INTERVAL_S * NANOSECONDS_PER_SECOND:
            return False
        os.pwrite(descriptor, b"%-*d" % (STAMP_BYTES_MAX, now_ns), 0)
    except OSError:
        return False  # another hook holds the lock, or the disk is full: then a daemon could not work either
    else:
        return True
    finally:
        os.close(descriptor)


def start_daemon(home: bytes, command: list[str]) -> None:
    """Start `command` in `home` with nothing of the agent's: no descriptor, no terminal, no environment."""
    environment = {name: os.environb[name] for name in DAEMON_ENVIRONMENT_NAMES if name in os.environb}
    if home != environment.get(b"HOME", b"") + b"/.tokeneconomizer":
        environment[b"TOKENECONOMIZER_HOME"] = home
    if os.fork() == 0:
        try:
            _become_daemon(home, command, environment)
        finally:
            os._exit(1)


def _become_daemon(home: bytes, command: list[str], environment: dict[bytes, bytes]) -> None:
    os.setsid()
    os.umask(0o077)
    os.chdir(home)
    # Ignored signals stay ignored in the next program, and blocked ones blocked.
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    # An agent waits until every copy of its pipes is closed.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    for descriptor in _open_descriptors():
        if descriptor > 2:  # noqa: PLR2004 - stderr
            try:  # noqa: SIM105 - contextlib would have to be imported
                os.close(descriptor)
            except OSError:
                pass  # the descriptor of the listing itself
    os.execve(command[0], command, environment)  # noqa: S606 - a shell is what must not come in between


def _open_descriptors() -> list[int]:
    # Not all possible numbers: containers allow a thousand million.
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return list(range(DESCRIPTORS_WITHOUT_LISTING))


def _enter_home(home: bytes) -> None:
    if not home:
        raise FileNotFoundError
    os.makedirs(home, mode=0o700, exist_ok=True)
    os.chdir(home)
    if os.stat(".").st_uid != os.geteuid():
        # Files of ours in another user's home would lock that user's own daemon out.
        raise PermissionError


def _mark_as_slow() -> None:
    """Have the next hooks spool at once; the mark's own time says until when."""
    os.close(os.open("daemon.slow", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    os.utime("daemon.slow")


def _spool(call: "Call", reply: bytes, payload: bytes) -> None:
    os.makedirs("spool", mode=0o700, exist_ok=True)
    header = (
        f"TE1 spool {call.host} {call.event} {call.via} {call.time_ns} {call.delivery_id}"
        f" {len(reply)} {len(payload)}\n"
    )
    content = header.encode("ascii") + reply + payload
    _check_room(len(content))
    name = f"{call.time_ns}-{os.getpid()}-{call.delivery_id}"
    unfinished = f"spool/.{name}.tmp"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _write_all(descriptor, content)
        os.fsync(descriptor)
        os.rename(unfinished, f"spool/{name}")
    except BaseException:
        os.unlink(unfinished)
        raise
    finally:
        os.close(descriptor)


def _check_room(size: int) -> None:
    files = 1
    with os.scandir("spool") as entries:
        for entry in entries:
            files += 1
            size += entry.stat(follow_symlinks=False).st_size
            if files > SPOOL_FILES_MAX or size > SPOOL_BYTES_MAX:
                raise SpoolFullError


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _log(call: "Call", failures: list[BaseException]) -> None:
    """Only names and classes of errors: a message could quote the payload."""
    os.makedirs("log", mode=0o700, exist_ok=True)
    descriptor = os.open("log/hook.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.fstat(descriptor).st_size >= LOG_BYTES_MAX:
        os.rename("log/hook.log", "log/hook.log.1")
        os.close(descriptor)
        descriptor = os.open("log/hook.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(call.time_ns // NANOSECONDS_PER_SECOND))
    reasons = " ".join(type(failure).__name__ for failure in failures)
    size = "oversize" if call.oversize else "complete"
    line = f"{moment} host={call.host} event={call.event} payload={size} {reasons}\n"
    os.write(descriptor, line.encode("ascii", "replace"))
    os.close(descriptor)
