"""The families of test runners, each with its grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.runners import (
    dotnet,
    go,
    java,
    javascript,
    javascript_small,
    jest,
    junit_xml,
    languages,
    mocha,
    native,
    php,
    pytest,
    python_tools,
    ruby,
    rust,
    tap,
    unittest,
)

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.runners.base import Family

FAMILIES: tuple[Family, ...] = (
    pytest.FAMILY,
    unittest.FAMILY,
    jest.JEST,
    jest.VITEST,
    mocha.FAMILY,
    *javascript.FAMILIES,
    *javascript_small.FAMILIES,
    tap.FAMILY,
    go.FAMILY,
    *rust.FAMILIES,
    *ruby.FAMILIES,
    *java.FAMILIES,
    php.FAMILY,
    *native.FAMILIES,
    dotnet.FAMILY,
    *languages.FAMILIES,
    *python_tools.FAMILIES,
    junit_xml.FAMILY,
)
