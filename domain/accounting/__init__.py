"""
What really entered a turn's context: the contract for every runtime, ours and those that embed it.

A runtime records the tool uses and results of a turn in an accumulator, and at the turn's end has the
collector make the snapshot. It never classifies, estimates or builds a snapshot by itself.
"""

from tokeneconomizer.domain.accounting.collector import TurnOfRuntime, collect_auto_invoke_snapshot
from tokeneconomizer.domain.accounting.invocations import (
    ToolInvocationAccumulator,
    ToolInvocationRecord,
    canonicalize_skill_name,
    classify_tool_use,
)
from tokeneconomizer.domain.accounting.snapshot import (
    ContextAccountingEntry,
    RuntimeContextAccountingSnapshot,
)

__all__ = [
    "ContextAccountingEntry",
    "RuntimeContextAccountingSnapshot",
    "ToolInvocationAccumulator",
    "ToolInvocationRecord",
    "TurnOfRuntime",
    "canonicalize_skill_name",
    "classify_tool_use",
    "collect_auto_invoke_snapshot",
]
