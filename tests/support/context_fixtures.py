"""The contexts whose pictures are kept, as programs hand them to `te context breakdown`."""

from __future__ import annotations

from tokeneconomizer.console.context_input import entries_in, pending_in, usage_in, window_in
from tokeneconomizer.domain.context_breakdown import ContextUsageBreakdown, build_breakdown

RULES = {"tokens": 93, "source": "workspace/CLAUDE.md", "detail": "CLAUDE.md"}
SKILLS = {
    "tokens": 1_480,
    "source": "workspace/.claude/skills/release/SKILL.md",
    "detail": "release",
}
TOOLS = {
    "tokens": 6_813,
    "source": "tool_use/tool/Bash + tool_use/tool/Edit + tool_use/tool/Read",
    "detail": "Bash × 12, Edit × 4, Read × 9",
}
MCP = {"tokens": 2_205, "source": "tool_use/mcp/issues", "detail": "issues × 3"}
SNAPSHOT = {"entries": {"rules": RULES, "skills": SKILLS, "tools": TOOLS, "mcp": MCP}}

CONTEXTS: dict[str, dict[str, object]] = {
    "known-window": {
        "usage": {"input": 1_200, "cacheRead": 21_400, "cacheWrite": 3_400, "output": 1_300},
        "contextWindow": 200_000,
        "snapshot": SNAPSHOT,
        "pending": [{"source": "mention", "tokens": 4_100}, {"source": "composer", "tokens": 60}],
    },
    "unknown-window": {
        "usage": {"input": 30_500, "cacheRead": 0, "cacheWrite": 0, "output": 1_300},
        "snapshot": SNAPSHOT,
    },
    "pending-only": {"contextWindow": 200_000, "pending": [{"source": "attachment", "tokens": 18_000}]},
    "cache-heavy": {
        "usage": {"input": 12, "cacheRead": 88_000, "cacheWrite": 9_100, "output": 640},
        "contextWindow": 200_000,
        "snapshot": {"entries": {"rules": RULES}},
    },
    "filling-up": {
        "usage": {"input": 90_000, "cacheRead": 50_000, "cacheWrite": 2_000, "output": 1_000},
        "contextWindow": 200_000,
        "snapshot": SNAPSHOT,
    },
    "near-the-limit": {
        "usage": {"input": 4_000, "cacheRead": 178_000, "cacheWrite": 6_000, "output": 900},
        "contextWindow": 200_000,
        "snapshot": SNAPSHOT,
    },
    "negative-residual": {
        "usage": {"input": 5_000, "cacheRead": 0, "cacheWrite": 0, "output": 100},
        "contextWindow": 200_000,
        "snapshot": SNAPSHOT,
    },
    "nothing-yet": {},
}


def breakdown_of(name: str) -> ContextUsageBreakdown:
    given = CONTEXTS[name]
    return build_breakdown(
        usage_in(given), window_in(given), entries_in(given.get("snapshot")), pending_in(given)
    )
