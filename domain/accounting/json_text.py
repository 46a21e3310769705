"""
Values as JavaScript's `JSON.stringify` prints them, and lengths as JavaScript counts them.

Every runtime of the contract estimates by these lengths; most of them run on JavaScript.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring

from tokeneconomizer.domain.errors import BadAccounting

EXACT_INTEGER_MAX = 2**53
"""JavaScript has floating-point numbers alone; up to here they are exact."""

PLAIN_DIGITS_MAX = 21
"""From ten to this power on JavaScript writes an exponent."""

PLAIN_ZEROS_MAX = 6
"""With as many zeros behind the point it does so as well."""

# A pair of surrogates is one character, also where Python holds it as two.
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def json_text(value: object) -> str:
    """
    Print a value as `JSON.stringify` does: compact, keys in their order, non-ASCII as it is.

    Raises:
        BadAccounting: the value has no JSON form.

    """
    pieces: list[str] = []
    # A value or a ready piece of text; a stack, because input may be nested deeper than Python calls.
    waiting: list[tuple[bool, object]] = [(False, value)]
    while waiting:
        is_ready, item = waiting.pop()
        if is_ready:
            pieces.append(str(item))
        elif isinstance(item, Mapping):
            waiting.extend(reversed(_object_pieces(item)))
        elif isinstance(item, Sequence) and not isinstance(item, str | bytes | bytearray):
            waiting.extend(reversed(_array_pieces(item)))
        else:
            pieces.append(_scalar(item))
    return "".join(pieces)


def utf16_length(text: str) -> int:
    """Return the length that JavaScript tells: a character beyond the first plane counts twice."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _object_pieces(item: Mapping[object, object]) -> list[tuple[bool, object]]:
    pieces: list[tuple[bool, object]] = [(True, "{")]
    for number, (name, value) in enumerate(item.items()):
        if not isinstance(name, str):
            message = f"the name {name!r} in a tool's input is no text: give JSON values"
            raise BadAccounting(message)
        pieces += [(True, f"{',' if number else ''}{_quoted(name)}:"), (False, value)]
    return [*pieces, (True, "}")]


def _array_pieces(item: Sequence[object]) -> list[tuple[bool, object]]:
    pieces: list[tuple[bool, object]] = [(True, "[")]
    for number, value in enumerate(item):
        if number:
            pieces.append((True, ","))
        pieces.append((False, value))
    return [*pieces, (True, "]")]


def _scalar(value: object) -> str:
    match value:
        case str():
            return _quoted(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if abs(value) <= EXACT_INTEGER_MAX:
            return str(int(value))
        case int():
            return _number(_nearest_float(value))
        case float():
            return _number(value)
    message = f"a {type(value).__name__} in a tool's input has no JSON form: give JSON values"
    raise BadAccounting(message)


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    try:
        # Far faster than looking for surrogates, which hardly any text has.
        quoted.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub(_escaped_if_lone, quoted)
    return quoted


def _escaped_if_lone(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else f"\\u{ord(found[0]):04x}"


def _nearest_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # Python's shortest digits that read back as the same number are JavaScript's.
    _, places, exponent = Decimal(repr(abs(value))).as_tuple()
    digits = "".join(map(str, places))
    point = len(digits) + int(exponent)
    digits = digits.rstrip("0")
    if len(digits) <= point <= PLAIN_DIGITS_MAX:
        return f"{sign}{digits:0<{point}}"
    if 0 < point <= PLAIN_DIGITS_MAX:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -PLAIN_ZEROS_MAX < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"
