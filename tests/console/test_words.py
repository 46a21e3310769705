import string

import pytest

from tokeneconomizer.console.overview import PARTS
from tokeneconomizer.console.words import LABELS, Words, language_of
from tokeneconomizer.domain.session import Phase
from tokeneconomizer.domain.settings import Configuration

LANGUAGES = ("en", "zh")


def fields_of(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("name", LABELS)
def test_every_label_has_words_in_both_languages(name: str) -> None:
    words = LABELS[name]
    assert tuple(words) == LANGUAGES
    assert all(words.values())
    assert fields_of(words["en"]) == fields_of(words["zh"])


def test_labels_are_sorted() -> None:
    assert list(LABELS) == sorted(LABELS)


@pytest.mark.parametrize("name", [*PARTS, *(f"state_{phase.value}" for phase in Phase)])
def test_every_part_and_every_state_of_a_session_has_a_label(name: str) -> None:
    assert all(Words(language).label(name) for language in LANGUAGES)


@pytest.mark.parametrize(
    ("chosen", "environment", "language"),
    [
        ("auto", {}, "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LANG": "de_DE.UTF-8"}, "en"),
        ("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ("auto", {"LANG": "en_US.UTF-8", "LC_ALL": "zh_TW"}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "en"),
        ("zh", {}, "zh"),
    ],
)
def test_the_setting_wins_over_the_locale(chosen: str, environment: dict[str, str], language: str) -> None:
    assert language_of(Configuration(everywhere={"lang": chosen}), environment) == language
