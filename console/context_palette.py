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
    Kind.SYSTEM_PROMPT: "#4f6591",
    Kind.TOOLS: "#2d8de2",
    Kind.RULES: "#acc8ff",
    Kind.SKILLS: "#ecb35e",
    Kind.MCP: "#c4ae86",
    Kind.MEMORY: "#a06a1a",
    Kind.FILES_ATTACHMENTS: "#76603d",
    CONVERSATION: "#d7d7d7",
    PENDING: "#999999",
    CACHE: "#878787",
}
"""Blues, tans and greys of differing lightness: chosen so that no colour-blindness joins two."""

COLOURS_256: dict[str, str] = {
    Kind.SYSTEM_PROMPT: "color(67)",
    Kind.TOOLS: "color(75)",
    Kind.RULES: "color(153)",
    Kind.SKILLS: "color(222)",
    Kind.MCP: "color(137)",
    Kind.MEMORY: "color(172)",
    Kind.FILES_ATTACHMENTS: "color(59)",
    CONVERSATION: "color(253)",
    PENDING: "color(247)",
    CACHE: "color(246)",
}
"""Near those, and as far apart."""

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
