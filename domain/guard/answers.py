"""Exit statuses that answer a question: nothing found, files differ, not running."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.session_events import ToolReturned

NOTHING_FOUND_STATUS = 1
"""grep, diff, test and their like keep 1 for `no`; what went wrong is 2 and more."""

_ASKING = re.compile(
    r"(?:^|[;&|]\s*|\s)(?:[ef]?grep|rg|ag|ack|git (?:grep|diff|check-ignore)|diff|cmp|test|\[{1,2}"
    r"|pgrep|which|type|command -v)(?:\s|$)"
)


def is_answer(command_template: str, returned: ToolReturned) -> bool:
    """Return whether a shell call's exit status only says that nothing was found."""
    return (
        returned.status == "failed"
        and returned.exit_code == NOTHING_FOUND_STATUS
        and not returned.signature_hash
        and _ASKING.search(command_template) is not None
    )
