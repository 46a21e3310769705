"""Lines at the end of an agent's log, which is read while the agent waits: as few are decoded as will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def lines_from_the_end(data: bytes) -> Iterator[bytes]:
    """Yield lines one by one: what is looked for is in the last few of some hundred."""
    end = len(data)
    while end >= 0:
        start = data.rfind(b"\n", 0, end)
        yield data[start + 1 : end]
        end = start


def from_the_line_that_names(data: bytes, name: str) -> bytes:
    """Return the log from the first line on that holds a name; nothing where none does, or it is empty."""
    named_at = data.find(name.encode(errors="surrogatepass")) if name else -1
    return b"" if named_at < 0 else data[data.rfind(b"\n", 0, named_at) + 1 :]


def object_in(raw: bytes) -> Mapping[str, object] | None:
    """Return a line's object; None of a line that cannot be read, which loses only itself."""
    try:
        line = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return line if isinstance(line, dict) else None
