"""
A scriptable stand-in for the model's server on 127.0.0.1, on each wire that an agent speaks.

A test hands over a list of replies, points the real agent at `ModelServer.base_url` (Anthropic's Messages) or
`ModelServer.openai_url` (OpenAI's Responses and Chat Completions), and afterwards reads
`ModelServer.requests`: what the agent sent, in order. Nothing leaves the machine and no key is needed.
"""

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import completions_wire
import messages_wire
import responses_wire
from prompt_blocks import JsonObject, Prompt, PromptBlock, as_object
from replies import FALLBACK, Reply
from wire import CHARACTERS_PER_TOKEN, Answer, Headers, Usage, Wire

WIRES: Mapping[str, Wire] = {
    "/v1/messages": messages_wire,
    "/v1/responses": responses_wire,
    "/v1/chat/completions": completions_wire,
}
MODELS = ("scripted-model", "scripted-small")  # what the list of models names; every other name works too

REQUEST_BYTES_MAX = 64 * 1024 * 1024  # far over what an agent sends; the memory must not fill
SECRET_HEADERS = frozenset({"authorization", "x-api-key", "cookie", "proxy-authorization"})
POLL_SECONDS = 0.05  # how soon `close` is noticed


@dataclass(frozen=True)
class LoggedRequest:
    """One request for a message, as it came in, with what it was answered from."""

    number: int
    seconds: float
    path: str
    headers: Headers
    prompt: Prompt
    reply_index: int | None
    usage: Usage

    @property
    def body(self) -> JsonObject:
        """The parsed request."""
        return self.prompt.body

    @property
    def blocks(self) -> tuple[PromptBlock, ...]:
        """The request in the order of the prompt cache."""
        return self.prompt.blocks

    @property
    def has_tools(self) -> bool:
        """Whether it is of the agent's loop; titles, probes and summaries carry no tools."""
        return bool(self.prompt.tools)


class _State:
    """What the handler threads share: the script's counters, the log and the simulated prompt cache."""

    def __init__(self, replies: Sequence[Reply], log_path: Path | None) -> None:
        self.lock = threading.Lock()
        self.replies = list(replies)
        self.used = [0] * len(self.replies)
        self.log_path = log_path
        self.requests: list[LoggedRequest] = []

    def answer(self, path: str, headers: Headers, prompt: Prompt) -> Answer:
        """Log the request and return what to answer to it."""
        with self.lock:
            index = self._pick(prompt)
            reply = FALLBACK if index is None else self.replies[index]
            usage = {**self._input_usage(prompt), "output_tokens": _output_tokens(reply), **reply.usage}
            number = len(self.requests) + 1
            request = LoggedRequest(number, time.monotonic(), path, headers, prompt, index, usage)
            self.requests.append(request)
            self._write(request)
        return Answer(number, prompt.model, reply, usage)

    def _pick(self, prompt: Prompt) -> int | None:
        for index, reply in enumerate(self.replies):
            if (reply.times is None or self.used[index] < reply.times) and reply.match.holds(prompt):
                self.used[index] += 1
                return index
        return None

    def _input_usage(self, prompt: Prompt) -> Usage:
        """Count what an earlier request of the model left in the cache, what is written now, and the rest."""
        blocks = prompt.blocks
        earlier = [request.blocks for request in self.requests if request.prompt.model == prompt.model]
        cached = max((_cached_prefix(blocks, before) for before in earlier), default=0)
        marked = _last_mark(blocks)
        return {
            "input_tokens": max(1, sum(_tokens(block) for block in blocks[marked:])),
            "cache_read_input_tokens": sum(_tokens(block) for block in blocks[: min(cached, marked)]),
            "cache_creation_input_tokens": sum(
                _tokens(block) for block in blocks[min(cached, marked) : marked]
            ),
        }

    def _write(self, request: LoggedRequest) -> None:
        if self.log_path is None:
            return
        record = {
            "number": request.number,
            "path": request.path,
            "headers": dict(request.headers),
            "reply": request.reply_index,
            "usage": dict(request.usage),
            "body": request.body,
        }
        with self.log_path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record, ensure_ascii=False) + "\n")


def _output_tokens(reply: Reply) -> int:
    return len(json.dumps(list(reply.blocks))) // CHARACTERS_PER_TOKEN + 1


def _tokens(block: PromptBlock) -> int:
    return max(1, len(block.text) // CHARACTERS_PER_TOKEN)


def _last_mark(blocks: Sequence[PromptBlock]) -> int:
    return max((index + 1 for index, block in enumerate(blocks) if block.cache_mark), default=0)


def _cached_prefix(blocks: Sequence[PromptBlock], before: Sequence[PromptBlock]) -> int:
    """Return how many leading blocks lie in front of a cache mark of `before` and are the same in both."""
    cached = 0
    for index, (new, old) in enumerate(zip(blocks, before, strict=False)):
        if (new.role, new.text) != (old.role, old.text):
            break
        if old.cache_mark:
            cached = index + 1
    return cached


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: ClassVar[_State]

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        if size > REQUEST_BYTES_MAX:
            self.close_connection = True
            self._error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", "request too large", {})
            return
        try:
            body = as_object(json.loads(self.rfile.read(size)))
        except ValueError as error:
            self._error(HTTPStatus.BAD_REQUEST, "invalid_request_error", f"no JSON object: {error}", {})
            return
        route = self.path.partition("?")[0]
        if route in WIRES:
            self._answer(WIRES[route], body)
        elif route == "/v1/messages/count_tokens":
            self._json(HTTPStatus.OK, {"input_tokens": size // CHARACTERS_PER_TOKEN + 1}, {})
        else:
            self._error(HTTPStatus.NOT_FOUND, "not_found_error", route, {})

    def do_GET(self) -> None:
        route = self.path.partition("?")[0]
        if route == "/":
            self._json(HTTPStatus.OK, {}, {})
        elif route == "/v1/models":
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in MODELS]
            self._json(HTTPStatus.OK, {"object": "list", "data": models}, {})
        else:
            self._error(HTTPStatus.NOT_FOUND, "not_found_error", route, {})

    do_HEAD = do_GET  # noqa: N815  # the base class looks the method up by this name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it so
        """Stay silent: `requests` is the log."""

    def _answer(self, wire: Wire, body: JsonObject) -> None:
        headers = {
            name.lower(): "<redacted>" if name.lower() in SECRET_HEADERS else value
            for name, value in self.headers.items()
        }
        answer = self.state.answer(self.path, headers, wire.read(body, headers))
        reply = answer.reply
        if reply.delay_seconds:
            time.sleep(reply.delay_seconds)
        if reply.status != HTTPStatus.OK:
            self._error(reply.status, reply.error_type, reply.error_message, reply.headers)
        elif body.get("stream"):
            self._stream(wire.stream(wire.write(answer)), reply.headers)
        else:
            self._json(HTTPStatus.OK, wire.write(answer), reply.headers)

    def _stream(self, events: Iterable[str], headers: Headers) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for event in events:
            chunk = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")

    # OpenAI's clients read the inner object alone, Anthropic's all of it.
    def _error(self, status: int, error_type: str, message: str, headers: Headers) -> None:
        self._json(status, {"type": "error", "error": {"type": error_type, "message": message}}, headers)

    def _json(self, status: int, value: JsonObject, headers: Headers) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, header in headers.items():
            self.send_header(name, header)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True  # an agent keeps its connections open; they must not hold up the end of a test

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: an agent that is stopped in mid-answer breaks its connection."""


class ModelServer:
    """
    The server as a context manager.

    Replies are tried in order, each `times` times; a request that none of them matches gets "OK.". Requests
    are logged before they are answered, so `requests` is complete as soon as the agent has its reply.
    """

    def __init__(self, replies: Sequence[Reply], log_path: Path | None = None) -> None:
        self._state = _State(replies, log_path)
        handler = type("_BoundHandler", (_Handler,), {"state": self._state})
        self._server = _QuietServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving; one that never served, or is closed already, has nothing to stop."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """The value for ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI's wires."""
        return f"{self.base_url}/v1"

    @property
    def requests(self) -> list[LoggedRequest]:
        """All requests for a message so far, in order."""
        with self._state.lock:
            return list(self._state.requests)

    @property
    def loop_requests(self) -> list[LoggedRequest]:
        """The requests of the agent's loops: those that carry tools, sub-agents' included."""
        return [request for request in self.requests if request.has_tools]

    @property
    def unused_replies(self) -> list[int]:
        """Indexes of the replies that were never sent: a scenario that ran as written leaves none."""
        with self._state.lock:
            return [index for index, used in enumerate(self._state.used) if not used]
