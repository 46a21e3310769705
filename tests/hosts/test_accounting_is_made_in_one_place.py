"""No agent's package makes a snapshot, classifies a call or estimates tokens: it feeds the contract."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HOSTS = Path(__file__).resolve().parents[2] / "hosts"
MODULES = sorted(HOSTS.rglob("*.py"))

NOT_FOR_HOSTS = {
    "RuntimeContextAccountingSnapshot",
    "class_of",
    "classify_tool_use",
    "snapshot_of",
    "tokens_in",
    "tokens_of",
    "UNITS_PER_TOKEN",
}
UNITS_PER_TOKEN = 4
BITS_OF_UNITS = 2


def offences(source: str) -> list[int]:
    """Lines that name a part of the collector, or divide by the units of a token."""
    return [getattr(node, "lineno", 0) for node in ast.walk(ast.parse(source)) if _offends(node)]


def _offends(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name in NOT_FOR_HOSTS
        case ast.BinOp(op=ast.Div() | ast.FloorDiv(), right=ast.Constant(value=value)):
            return value == UNITS_PER_TOKEN
        case ast.BinOp(op=ast.RShift(), right=ast.Constant(value=value)):
            return value == BITS_OF_UNITS
        case ast.BinOp(op=ast.Mult(), right=ast.Constant(value=value)):
            return value == 1 / UNITS_PER_TOKEN
    return False


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(HOSTS)))
def test_a_host_leaves_accounting_to_the_contract(module: Path) -> None:
    assert offences(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "tokens = len(text) // 4",
        "tokens = -(-size // 4)",
        "tokens = math.ceil(len(text) / 4)",
        "tokens = size >> 2",
        "tokens = size * 0.25",
        "from tokeneconomizer.domain.accounting import RuntimeContextAccountingSnapshot",
        "snapshot = accounting.RuntimeContextAccountingSnapshot({}, (), NAME)",
        "from tokeneconomizer.domain.accounting.invocations import tokens_in",
    ],
)
def test_the_check_finds_what_it_is_for(source: str) -> None:
    assert offences(source)
