"""The colours of the context picture: muted, and apart for colour-blind eyes; letters where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.snapshot import Kind
from tokeneconomizer.domain.context_breakdown import CACHE, CONVERSATION, PENDING

if TYPE_CHECKING:
    from collections.abc import Mapping

USED_DOT = "●"
PENDING_DOT = "○"
FREE_DOT = "·"

LETTERS: dict[str, str] = {
    Kind.SYSTEM_PROMPT: "S",
    Kind.TOOLS: "T",
    Kind.RULES: "R",
    Kind.SKILLS: "K",
    Kind.MCP: "M",
    Kind.MEMORY: "Y",
    Kind.FILES_ATTACHMENTS: "F",
    CONVERSATION: "C",
    PENDING: "o",
    CACHE: "A",
}
"""Kind -> its cell where there is no colour; the outlined one is the small letter."""

FREE_LETTER = "."

TRUE_COLOURS: dict[str, str] = {
    Kind.SYSTEM_PROMPT: "#7c78b8",
    Kind.TOOLS: "#88ccee",
    Kind.RULES: "#44aa99",
    Kind.SKILLS: "#ddcc77",
    Kind.MCP: "#cc6677",
    Kind.MEMORY: "#999933",
    Kind.FILES_ATTACHMENTS: "#aa4499",
    CONVERSATION: "#bbbbbb",
    PENDING: "#999999",
    CACHE: "#777777",
}

COLOURS_256: dict[str, str] = {
    Kind.SYSTEM_PROMPT: "color(97)",
    Kind.TOOLS: "color(117)",
    Kind.RULES: "color(73)",
    Kind.SKILLS: "color(186)",
    Kind.MCP: "color(167)",
    Kind.MEMORY: "color(100)",
    Kind.FILES_ATTACHMENTS: "color(133)",
    CONVERSATION: "color(250)",
    PENDING: "color(246)",
    CACHE: "color(243)",
}

COLOURS_16: dict[str, str] = {
    Kind.SYSTEM_PROMPT: "blue",
    Kind.TOOLS: "cyan",
    Kind.RULES: "green",
    Kind.SKILLS: "yellow",
    Kind.MCP: "red",
    Kind.MEMORY: "bright_blue",
    Kind.FILES_ATTACHMENTS: "magenta",
    CONVERSATION: "white",
    PENDING: "bright_black",
    CACHE: "bright_black",
}


@dataclass(frozen=True, slots=True)
class Palette:
    """
    How cells look.

    Attributes:
        colours: kind -> style; empty where cells are letters.
        free: the style of a free cell.
        quiet: the style of what matters less.
        warning: the style of the words above 70 %.

    """

    colours: Mapping[str, str]
    free: str = ""
    quiet: str = ""
    warning: str = ""

    def cell(self, kind: str | None) -> tuple[str, str]:
        """Return a cell's character and style."""
        if not self.colours:
            return (FREE_LETTER if kind is None else LETTERS[kind]), ""
        if kind is None:
            return FREE_DOT, self.free
        return (PENDING_DOT if kind == PENDING else USED_DOT), self.colours[kind]


PALETTES: dict[str | None, Palette] = {
    "truecolor": Palette(TRUE_COLOURS, free="#8a8a8a", quiet="#8a8a8a", warning="#b8923a"),
    "256": Palette(COLOURS_256, free="color(245)", quiet="color(245)", warning="color(136)"),
    "standard": Palette(COLOURS_16, free="bright_black", quiet="bright_black", warning="yellow"),
    None: Palette({}),
}
"""What a terminal can show, in rich's words -> the palette."""
