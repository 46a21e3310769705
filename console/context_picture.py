"""
The picture of a context: title, how full, the dot matrix, and the list, as lines for any terminal.

Nothing is told by colour alone: the list has every kind's name and number, and without colour each cell is
its kind's letter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.console.output import printable, width_of
from tokeneconomizer.domain.context_breakdown import LABELS
from tokeneconomizer.domain.dot_matrix import columns_for, dot_matrix, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.console.context_palette import Palette
    from tokeneconomizer.domain.context_breakdown import ContextUsageBreakdown

WARNING_RATIO = 0.7
CRITICAL_RATIO = 0.9
"""The specification's: above the one a quiet warning, above the other plain advice."""

THOUSAND = 1_000

DETAIL_COLUMNS_MIN = 12
"""Less of a detail tells nothing."""

TITLE = "Context"

WORDS: dict[str, dict[str, str]] = {
    "full": {"en": "{percent}% full", "zh": "已用 {percent}%"},
    "hardly_full": {"en": "<1% full", "zh": "已用不到 1%"},
    "of_window": {"en": "~{used} / {window} tokens", "zh": "~{used} / {window} tokens"},
    "used": {"en": "~{used} tokens", "zh": "~{used} tokens"},
    "unknown_window": {"en": "capacity unknown", "zh": "容量未知"},
    "empty": {"en": "Nothing has entered the context yet.", "zh": "上下文中还没有内容。"},
    "warning": {
        "en": "Above 70%: the context is filling up.",
        "zh": "已超过 70%：上下文正在变满。",
    },
    "critical": {
        "en": "Above 90%: compact or clear the context now.",
        "zh": "已超过 90%：建议立即压缩或清理上下文。",
    },
    "overcounted": {
        "en": "The counted parts exceed what the agent reported.",
        "zh": "已统计的部分超过了代理报告的总量。",
    },
    "free": {"en": "free", "zh": "空闲"},
}
"""The picture's words in each language."""

# A Chinese character with the mark behind it, or a word; each with the blanks behind it.
_BREAKABLE = re.compile(r"[\u4e00-\u9fff][。：，]?\s*|[^\s\u4e00-\u9fff]+\s*")

Span = tuple[str, str]
"""A text and its style, in rich's words."""

Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """
    What the picture is drawn for.

    Attributes:
        width: columns of the terminal.
        language: `en` or `zh`.
        palette: how cells look.

    """

    width: int
    language: str
    palette: Palette

    def words(self, name: str, **values: str) -> str:
        """Return words in the frame's language."""
        return WORDS[name][self.language].format(**values)


def picture(breakdown: ContextUsageBreakdown, frame: Frame) -> list[Line]:
    """Draw a context."""
    title: Line = ((TITLE, "bold" if frame.palette.colours else ""),)
    if not breakdown.parts:
        return [title, ((frame.words("empty"), frame.palette.quiet),)]
    columns = columns_for(frame.width)
    matrix = rows_of(dot_matrix(breakdown, columns))
    lines = [
        title,
        *_how_full(breakdown, frame, columns),
        (),
        *(tuple(frame.palette.cell(kind) for kind in row) for row in matrix),
        (),
        *_list(breakdown, frame, columns),
    ]
    remarks = list(_remarks(breakdown, frame))
    return [*lines, (), *remarks] if remarks else lines


def plain_text(lines: list[Line]) -> str:
    """Return lines without their styles."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def in_thousands(tokens: int) -> str:
    """Return a count as people read it: `843`, `27.3K`, `200K`, `1M`."""
    number, unit = float(tokens), ""
    for larger in ("K", "M", "G"):
        # What would be rounded to a thousand has the next unit.
        if round(number, 1 if unit else 0) < THOUSAND:
            break
        number, unit = number / THOUSAND, larger
    return f"{number:.1f}".removesuffix(".0") + unit


def _how_full(breakdown: ContextUsageBreakdown, frame: Frame, columns: int) -> list[Line]:
    """Return how full it is and the numbers, side by side where there is room."""
    used = in_thousands(breakdown.used_tokens)
    if breakdown.context_window is None or breakdown.ratio is None:
        left, right = frame.words("unknown_window"), frame.words("used", used=used)
    else:
        left = _percentage(breakdown.ratio, frame)
        right = frame.words("of_window", used=used, window=in_thousands(breakdown.context_window))
    gap = columns - width_of(left) - width_of(right)
    if gap < 1:
        return [((left, ""),), ((right, frame.palette.quiet),)]
    return [((left, ""), (" " * gap, ""), (right, frame.palette.quiet))]


def _percentage(ratio: float, frame: Frame) -> str:
    percent = round(ratio * 100)
    if ratio and not percent:
        return frame.words("hardly_full")
    # A context with room is not yet full.
    return frame.words("full", percent=str(min(percent, 99) if ratio < 1 else percent))


def _list(breakdown: ContextUsageBreakdown, frame: Frame, columns: int) -> Iterator[Line]:
    """Yield a line for each kind: its cell, its name, and its tokens at the matrix's right edge."""
    for part in breakdown.parts:
        cell = frame.palette.cell(part.kind)
        detail = _detail(part.detail or "", frame.width - columns)
        yield (
            *_entry(cell, LABELS[part.kind][frame.language], in_thousands(part.tokens), columns),
            *(((detail, frame.palette.quiet),) if detail else ()),
        )
    if breakdown.remaining_tokens:
        cell = frame.palette.cell(None)
        yield _entry(cell, frame.words("free"), in_thousands(breakdown.remaining_tokens), columns)


def _entry(cell: Span, label: str, tokens: str, columns: int) -> Line:
    gap = " " * max(1, columns - len("x ") - width_of(label) - width_of(tokens))
    return (cell, (f" {label}{gap}{tokens}", ""))


def _detail(detail: str, room: int) -> str:
    """Return a detail for the room behind the numbers, cut if need be; nothing where there is hardly any."""
    text = f"  {printable(detail)}"
    if room < DETAIL_COLUMNS_MIN or not detail:
        return ""
    while width_of(text) > room:
        text = f"{text.removesuffix('…')[:-1]}…"
    return text


def _remarks(breakdown: ContextUsageBreakdown, frame: Frame) -> Iterator[Line]:
    ratio = breakdown.ratio or 0
    said = []
    if ratio > CRITICAL_RATIO:
        said.append(("critical", "bold" if frame.palette.colours else ""))
    elif ratio > WARNING_RATIO:
        said.append(("warning", frame.palette.warning))
    if breakdown.overcounted:
        said.append(("overcounted", frame.palette.quiet))
    for name, style in said:
        yield from (((line, style),) for line in _wrapped(frame.words(name), frame.width))


def _wrapped(text: str, width: int) -> list[str]:
    """Break a text between words, and between any two Chinese characters."""
    lines = [""]
    for piece in _BREAKABLE.findall(text):
        if lines[-1] and width_of(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]
