"""
The pictures as they are kept in `snapshots/`, for a person to read.

A picture that has to change is drawn anew by `python tests/console/test_context_picture.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import pytest
from context_fixtures import CONTEXTS, breakdown_of

from tokeneconomizer.console.context_palette import PALETTES
from tokeneconomizer.console.context_picture import Frame, in_thousands, picture, plain_text
from tokeneconomizer.console.output import width_of
from tokeneconomizer.domain.context_breakdown import LABELS, Usage, build_breakdown

SNAPSHOTS = Path(__file__).with_name("snapshots")
README = Path(__file__).resolve().parents[2] / "README.md"
WIDE, NARROW, VERY_NARROW = 80, 40, 26
IN_README = ("known-window.en.80.txt", "near-the-limit.en.40.txt", "unknown-window.zh.80.txt")

DRAWN = [(name, language, WIDE) for name in CONTEXTS for language in ("en", "zh")]
DRAWN += [
    (name, "en", width) for name in ("known-window", "near-the-limit") for width in (NARROW, VERY_NARROW)
]


def drawn(name: str, language: str, width: int) -> str:
    return plain_text(picture(breakdown_of(name), Frame(width, language, PALETTES[None]))) + "\n"


def file_of(name: str, language: str, width: int) -> Path:
    return SNAPSHOTS / f"{name}.{language}.{width}.txt"


@pytest.mark.parametrize(("name", "language", "width"), DRAWN)
def test_a_context_is_drawn_as_it_is_kept(name: str, language: str, width: int) -> None:
    assert drawn(name, language, width) == file_of(name, language, width).read_text(encoding="utf-8")


def test_no_picture_is_kept_that_is_not_drawn() -> None:
    assert {path.name for path in SNAPSHOTS.iterdir()} == {file_of(*about).name for about in DRAWN}


@pytest.mark.parametrize("name", IN_README)
def test_the_readme_shows_the_kept_picture(name: str) -> None:
    assert (SNAPSHOTS / name).read_text(encoding="utf-8") in README.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "language", "width"), DRAWN)
def test_no_line_is_wider_than_the_terminal(name: str, language: str, width: int) -> None:
    assert max(map(width_of, drawn(name, language, width).splitlines())) <= width


@pytest.mark.parametrize("name", CONTEXTS)
@pytest.mark.parametrize("colours", ["truecolor", "256", "standard"])
def test_colour_changes_cells_alone_and_tells_every_kind_in_words(name: str, colours: str) -> None:
    breakdown = breakdown_of(name)
    coloured = plain_text(picture(breakdown, Frame(WIDE, "en", PALETTES[colours]))).splitlines()
    plain = drawn(name, "en", WIDE).splitlines()
    # Title, how full, a blank line, and behind the two rows of cells the list, each with its cell first.
    assert coloured[:3] == plain[:3]
    assert [line[1:] for line in coloured[5:]] == [line[1:] for line in plain[5:]]
    assert all(any(LABELS[part.kind]["en"] in line for line in coloured) for part in breakdown.parts)


@pytest.mark.parametrize(
    ("ratio", "percent", "remark"),
    [
        (0.001, "<1% full", ""),
        (0.1365, "14% full", ""),
        (0.7, "70% full", ""),
        (0.701, "70% full", "Above 70%: the context is filling up."),
        (0.9, "90% full", "Above 70%: the context is filling up."),
        (0.901, "90% full", "Above 90%: compact or clear the context now."),
        (0.9999, "99% full", "Above 90%: compact or clear the context now."),
        (1.0, "100% full", "Above 90%: compact or clear the context now."),
        (1.2, "120% full", "Above 90%: compact or clear the context now."),
    ],
)
def test_how_full_it_is_stands_above_and_what_to_do_below(ratio: float, percent: str, remark: str) -> None:
    breakdown = build_breakdown(Usage(round(ratio * 10_000)), 10_000, {}, ())
    lines = plain_text(picture(breakdown, Frame(WIDE, "en", PALETTES[None]))).splitlines()
    assert lines[1].startswith(percent)
    assert (lines[-1] if remark else "") == remark


def test_a_window_of_which_nothing_is_used_yet_is_said_in_words() -> None:
    lines = picture(build_breakdown(None, 200_000, {}, ()), Frame(WIDE, "en", PALETTES[None]))
    assert plain_text(lines) == "Context\nNothing has entered the context yet."


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (0, "0"),
        (843, "843"),
        (999, "999"),
        (1_000, "1K"),
        (27_300, "27.3K"),
        (27_349, "27.3K"),
        (200_000, "200K"),
        (999_949, "999.9K"),
        (999_950, "1M"),
        (1_250_000, "1.2M"),
        (3_000_000_000, "3G"),
    ],
)
def test_counts_are_short(tokens: int, shown: str) -> None:
    assert in_thousands(tokens) == shown


if __name__ == "__main__":
    for about in DRAWN:
        file_of(*about).write_text(drawn(*about), encoding="utf-8")
