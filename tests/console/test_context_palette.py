"""Every kind has a colour of its own, muted, which no common colour-blindness joins with another one."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from tokeneconomizer.console.context_palette import (
    COLOURS_16,
    COLOURS_256,
    FREE_LETTER,
    LETTERS,
    PALETTES,
    TRUE_COLOURS,
)
from tokeneconomizer.domain.context_breakdown import CACHE, LABELS, PENDING

# Machado, Oliveira and Fernandes (2009), severity 1.
EYES = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}
DISTANCE_MIN = 20
"""In CIE Lab; 2.3 is what an eye just tells apart side by side."""

CHROMA_MAX = 55
"""Pure red has 105, pure blue 134."""

LEVELS = (0, 95, 135, 175, 215, 255)


def rgb_of(style: str) -> tuple[int, ...]:
    if style.startswith("#"):
        return tuple(int(style[place : place + 2], 16) for place in (1, 3, 5))
    number = int(style.removeprefix("color(").removesuffix(")"))
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    return tuple(LEVELS[(number - 16) // step % 6] for step in (36, 6, 1))


def seen(style: str, eyes: str) -> tuple[float, float, float]:
    """The colour in CIE Lab, as these eyes have it."""
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb_of(style))
    ]
    r, g, b = (
        min(1.0, max(0.0, sum(weight * value for weight, value in zip(row, linear, strict=True))))
        for row in EYES[eyes]
    )
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("colours", [TRUE_COLOURS, COLOURS_256], ids=["true colour", "256"])
def test_no_two_kinds_look_alike_to_any_eyes(colours: dict[str, str], eyes: str) -> None:
    # What is pending has an outlined cell, which needs no colour to be told.
    used = [seen(style, eyes) for kind, style in colours.items() if kind != PENDING]
    assert min(math.dist(*pair) for pair in combinations(used, 2)) >= DISTANCE_MIN


@pytest.mark.parametrize("style", TRUE_COLOURS.values())
def test_colours_are_muted(style: str) -> None:
    _, a, b = seen(style, "all cones")
    assert math.hypot(a, b) <= CHROMA_MAX


@pytest.mark.parametrize("table", [TRUE_COLOURS, COLOURS_256, COLOURS_16, LETTERS])
def test_every_kind_has_a_look_of_its_own(table: dict[str, str]) -> None:
    assert list(table) == list(LABELS)
    looks = [look for kind, look in table.items() if kind != PENDING]
    assert len(set(looks)) == len(looks)


def test_letters_tell_free_and_pending_cells_from_all_others() -> None:
    assert len({*LETTERS.values(), FREE_LETTER}) == len(LETTERS) + 1


@pytest.mark.parametrize("colours", ["truecolor", "256", "standard"])
def test_used_pending_and_free_cells_have_different_shapes(colours: str) -> None:
    palette = PALETTES[colours]
    shapes = {palette.cell(kind)[0] for kind in (CACHE, PENDING, None)}
    assert len(shapes) == 3
