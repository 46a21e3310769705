from __future__ import annotations

import pytest

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.scheduler.fact_policy import FactPolicy

PLACE = Place("example.org/team/project", "/home/dev/project")


@pytest.mark.parametrize(
    ("everywhere", "of_repository", "agent_trusts", "refusal"),
    [
        ({}, {}, False, "not trusted"),
        ({}, {}, True, ""),
        ({}, {"trust": "yes"}, False, ""),
        ({"microskills": "off"}, {"trust": "yes"}, True, "off"),
        ({"microskills": "off"}, {"microskills": "envfacts"}, True, ""),
        ({"microskills": "full"}, {}, True, ""),
    ],
)
def test_facts_are_given_where_they_are_on_and_the_repository_is_trusted(
    everywhere: dict[str, str | int], of_repository: dict[str, str | int], agent_trusts: bool, refusal: str
) -> None:
    configuration = Configuration(everywhere, {}, {PLACE.repository: of_repository})
    policy = FactPolicy(lambda: configuration, lambda _host, _checkout: agent_trusts)
    words = policy.refusal("claude_code", PLACE)
    assert refusal in words
    assert bool(words) is bool(refusal)


def test_the_length_of_a_block_is_the_repositorys_own() -> None:
    configuration = Configuration({}, {}, {PLACE.repository: {"facts.block_characters": 300}})
    policy = FactPolicy(lambda: configuration, lambda _host, _checkout: False)
    assert (policy.block_characters(PLACE.repository), policy.block_characters("other")) == (300, 1_500)
