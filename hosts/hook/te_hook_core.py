"""
The fast path of the hook client: stdin to the daemon, the daemon's reply to stdout.

It runs at every step of an agent, under `python -I -S`, so it imports only modules that are part of the
interpreter: `posix` in place of `os`, which alone would cost a tenth of the whole start. All paths and
environment values stay bytes, so no encoding can fail. The protocol is the one of `wire.py`, which is too
heavy to import here; a test holds the two together.
"""

import _socket
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from types import FrameType, ModuleType, TracebackType
else:
    import _signal  # the builtin part: `signal` makes enumerations first

# This program's version: a daemon that answers with an older one is asked to leave after an upgrade.
PROGRAM_VERSION = b"0.1.0"

# A person does not notice it, and the slowest commit that the store was seen to make takes 0.125 s.
HOOK_DEADLINE_S = 0.75
# Spooling is one small file: when that takes longer the disk hangs, and the agent goes first.
COLD_DEADLINE_S = 0.25
# Parsing more than this would hold up every other session in the daemon.
PAYLOAD_BYTES_MAX = 8 * 1024 * 1024
# The listed variables take a few KiB; more is no environment that a side call could use.
ENVIRONMENT_BYTES_MAX = 256 * 1024
# No reply comes near it: a longer one is not from our daemon.
REPLY_BYTES_MAX = 1024 * 1024
# "TE1 <version> <length>\n" takes about twenty.
REPLY_HEADER_BYTES_MAX = 128
# A daemon that missed a deadline is left alone for a while: an agent waits for it once, not at every step.
SLOW_PAUSE_S = 10
SLOW_MARK = b"daemon.slow"
# What a pipe holds on Linux: one read takes all that is there.
CHUNK_BYTES = 64 * 1024
# Names of hosts and events are short words: longer ones are not names.
NAME_CHARACTERS_MAX = 40
# `{}`: a reply of this size says nothing, so nobody needs to know that it arrived.
SILENT_REPLY_BYTES = 2

FLAGS = ("--host", "--event", "--via")
SESSION_START_EVENTS = ("SessionStart", "sessionStart", "session_start")
# Plain output of this event becomes instructions of the compaction, so saying nothing is an empty output.
EVENTS_WITHOUT_OUTPUT = ("PreCompact",)

# What side calls need to reach the agents' models as the user does. It is kept in memory, never on disk.
ENVIRONMENT_NAMES = (
    b"PATH", b"HOME", b"LANG", b"LC_ALL", b"TMPDIR",
    b"HTTP_PROXY", b"http_proxy", b"HTTPS_PROXY", b"https_proxy",
    b"NO_PROXY", b"no_proxy", b"ALL_PROXY", b"all_proxy",
    b"SSL_CERT_FILE", b"NODE_EXTRA_CA_CERTS",
    b"ANTHROPIC_API_KEY", b"ANTHROPIC_AUTH_TOKEN", b"ANTHROPIC_BASE_URL",
    b"CLAUDE_CODE_OAUTH_TOKEN", b"CLAUDE_CONFIG_DIR",
    b"CODEX_HOME", b"OPENAI_API_KEY", b"OPENAI_BASE_URL",
    b"COPILOT_HOME", b"COPILOT_MODEL", b"COPILOT_GH_HOST", b"GH_HOST", b"GH_TOKEN", b"GITHUB_TOKEN",
    b"PI_CODING_AGENT_DIR",
    b"XDG_CONFIG_HOME", b"XDG_DATA_HOME", b"XDG_STATE_HOME",
)  # fmt: skip


class DeadlineError(BaseException):
    """The time is up. Not an Exception, so that no handler for ordinary errors swallows it."""


class SlowDaemonError(Exception):
    """The daemon missed a deadline a moment ago."""


class ProtocolError(Exception):
    """Whatever answered does not speak our protocol, or ended too early."""


class Deadline:
    """
    Limits everything inside a `with` block by one timer.

    One SIGALRM and not a timeout per operation: it also ends a read of a stdin that is kept open, a file on
    a hanging disk and a slow import, and many small waits cannot add up. It fires once and only while the
    block runs (`armed`), so the code that handles the error is never interrupted by a second one.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.armed = False

    def __enter__(self) -> None:
        self.armed = True
        _signal.signal(_signal.SIGALRM, self._expire)
        # An agent may hand down a mask that holds the signal back.
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
        _signal.setitimer(_signal.ITIMER_REAL, self.seconds)

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        traceback: "TracebackType | None",
    ) -> None:
        self.armed = False
        _signal.setitimer(_signal.ITIMER_REAL, 0)

    def _expire(self, _number: int, _frame: "FrameType | None") -> None:
        if self.armed:
            self.armed = False
            raise DeadlineError


class Call:
    """One call of the hook: what the command line says, and what has been read so far."""

    def __init__(self, arguments: list[str]) -> None:
        self.time_ns = time.time_ns()
        self.delivery_id = posix.urandom(16).hex()
        values = dict.fromkeys(FLAGS, "-")
        for position, argument in enumerate(arguments[:-1]):
            if argument in values:
                values[argument] = _name_or_dash(arguments[position + 1])
        self.host, self.event, self.via = values.values()
        self.empty_reply = b"" if self.event in EVENTS_WITHOUT_OUTPUT else b"{}"
        self.home = b""
        self.chunks: list[bytes] = []
        self.oversize = False
        self.connecting = False

    def request(self) -> bytes:
        """Everything that the daemon gets: a header, then the environment, then the payload."""
        kind = "oversize" if self.oversize else "hook"
        payload = b"".join(self.chunks)
        environment = _listed_environment() if self.event in SESSION_START_EVENTS else b""
        header = (
            f"TE1 {kind} {self.host} {self.event} {self.via} {self.time_ns} {self.delivery_id}"
            f" {len(environment)} {len(payload)}\n"
        )
        return header.encode("ascii") + environment + payload


def _name_or_dash(text: str) -> str:
    plain = text.replace("_", "a").replace(".", "a").replace("-", "a")
    is_name = len(text) <= NAME_CHARACTERS_MAX and plain.isascii() and plain.isalnum()
    return text if is_name and not text.startswith("--") else "-"


def _listed_environment() -> bytes:
    variables = posix.environ
    listed = b"\0".join(name + b"=" + variables[name] for name in ENVIRONMENT_NAMES if name in variables)
    return listed if len(listed) <= ENVIRONMENT_BYTES_MAX else b""


def state_home() -> bytes:
    """
    Find the folder of all state; empty when neither the environment nor the user database knows a home.

    A relative one is passed over: it would lie in the user's repository.
    """
    chosen = posix.environ.get(b"TOKENECONOMIZER_HOME", b"")
    if chosen.startswith(b"/"):
        return chosen
    home = posix.environ.get(b"HOME", b"")
    if not home.startswith(b"/"):
        import pwd  # noqa: PLC0415 - only where HOME is missing

        try:
            home = pwd.getpwuid(posix.getuid()).pw_dir.encode("utf-8", "surrogateescape")
        except KeyError:
            return b""
    return home + b"/.tokeneconomizer"


def _open_missing_streams() -> bool:
    """Fill closed standard descriptors, or the socket could become our stdout; tell if stdout was open."""
    stdout_is_open = True
    while (descriptor := posix.open(b"/dev/null", posix.O_RDWR)) <= 2:  # noqa: PLR2004 - stderr
        stdout_is_open = stdout_is_open and descriptor != 1
    posix.close(descriptor)
    return stdout_is_open


def _read_payload(call: Call) -> None:
    """Read stdin to its end, also when it is too long: an agent must not see a broken pipe."""
    size = 0
    while True:
        try:
            chunk = posix.read(0, CHUNK_BYTES)
        except BlockingIOError:
            posix.set_blocking(0, True)
            continue
        if not chunk:
            return
        size += len(chunk)
        if size <= PAYLOAD_BYTES_MAX:
            call.chunks.append(chunk)
        elif not call.oversize:
            call.oversize = True
            call.chunks.clear()


def _connect(call: Call) -> _socket.socket:
    call.connecting = True
    # A socket's path may have about 104 bytes, a home's path may have more: so connect to a relative one.
    posix.chdir(call.home)
    if posix.stat(b".").st_uid != posix.geteuid():
        # Keys must not go to another user's daemon.
        raise PermissionError
    if _was_slow_lately(call.time_ns):
        raise SlowDaemonError
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(b"daemon.sock")
    call.connecting = False
    return connection


def _was_slow_lately(now_ns: int) -> bool:
    try:
        age_ns = now_ns - posix.stat(SLOW_MARK).st_mtime_ns
    except OSError:
        return False
    # A mark from the future means that the clock was set back.
    return 0 <= age_ns < SLOW_PAUSE_S * 1_000_000_000


def _receive_reply(connection: _socket.socket) -> tuple[bytes, bytes]:
    """Return the daemon's version and its reply."""
    received = b""
    while b"\n" not in received:
        chunk = connection.recv(CHUNK_BYTES)
        if not chunk or len(received) > REPLY_HEADER_BYTES_MAX:
            raise ProtocolError
        received += chunk
    header, _, body = received.partition(b"\n")
    fields = header.split(b" ")
    if len(fields) != 3 or fields[0] != b"TE1" or not fields[2].isdigit():  # noqa: PLR2004 - as in wire.py
        raise ProtocolError
    length = int(fields[2])
    if length > REPLY_BYTES_MAX:
        raise ProtocolError
    while len(body) < length:
        chunk = connection.recv(CHUNK_BYTES)
        if not chunk:
            raise ProtocolError
        body += chunk
    return fields[1], body[:length]


def _write_reply(reply: bytes) -> bool:
    """Write all of it; tell whether that worked, as an agent may have closed its end."""
    try:
        while reply:
            try:
                reply = reply[posix.write(1, reply) :]
            except BlockingIOError:
                posix.set_blocking(1, True)
    except OSError:
        return False
    return True


def _cold_path() -> "ModuleType":
    # Imported only when something failed, by the name under which this module was imported itself.
    if TYPE_CHECKING or __package__:
        from tokeneconomizer.hosts.hook import hook_cold  # noqa: PLC0415
    else:
        import hook_cold  # noqa: PLC0415
    return hook_cold


def _answer_without_daemon(call: Call, error: BaseException) -> None:
    """Spool first, then reply: a payload whose reply was given is not lost to a kill in between."""
    cold, reply = None, call.empty_reply
    try:
        with Deadline(COLD_DEADLINE_S):
            cold = _cold_path()
            reply = cold.keep(call, error)
    except BaseException:
        pass
    _write_reply(reply)
    # A daemon that is slow or confused is there: a second one would not help.
    if cold is not None and call.connecting and isinstance(error, OSError):
        with Deadline(COLD_DEADLINE_S):
            cold.start_daemon_once(call.home)


def _outlive_the_agent() -> None:
    """
    Go on when the agent ends its hooks: the call is over in a moment anyway, and its event would be lost.

    Ctrl-C reaches the agent's whole process group, and Claude Code sends SIGTERM to the hook of a failed turn
    20 ms after its start (measured on 2.1.332).
    """
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, _signal.SIG_IGN)


def _answer() -> None:
    call = Call(sys.argv[1:])
    if posix.environ.get(b"TOKENECONOMIZER_SIDE_CALL"):
        # One of our own side calls runs this agent: answering it would make sessions out of sessions.
        _write_reply(call.empty_reply)
        return
    stdout_is_open = False
    try:
        _outlive_the_agent()
        stdout_is_open = _open_missing_streams()
        with Deadline(HOOK_DEADLINE_S):
            call.home = state_home()
            _read_payload(call)
            connection = _connect(call)
            connection.sendall(call.request())
            version, reply = _receive_reply(connection)
    except BaseException as error:
        _answer_without_daemon(call, error)
        return
    if _write_reply(reply) and stdout_is_open and len(reply) > SILENT_REPLY_BYTES:
        connection.send(b"+")
    if version != PROGRAM_VERSION:
        with Deadline(COLD_DEADLINE_S):
            _cold_path().take_over(call.home, version, PROGRAM_VERSION)


def main() -> None:
    """Answer one hook call and end the process: always with status 0, never a word on stderr."""
    try:  # noqa: SIM105 - contextlib would have to be imported
        _answer()
    except BaseException:
        pass
    # Skips the interpreter's teardown, which has nothing to flush.
    posix._exit(0)  # noqa: SLF001 - os._exit, without importing os
