"""
What is said about a circle: to the model in English, to the user in English or Chinese.

Nothing of an output enters these lines: only the redacted command, the tool's name, counts and the masked
words of a failure, each bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.rules import Finding
    from tokeneconomizer.domain.guard.turn import CallRecord

NAME = "tokeneconomizer"

SUBJECT_CHARACTERS_MAX = 80
"""A command is recognised by its beginning; the line stays one line."""

HINTS = {
    "en": "{name}: this turn is still going in circles ({subject}, {evidence}, {occurrences} times). "
    "You may want to stop it and say what to do differently.",
    "zh": "{name}：本轮仍在原地打转（{subject}，{evidence}，已 {occurrences} 次）。"
    "建议停下来，告诉它换个做法。",
}


def redirect_text(finding: Finding) -> str:
    """Return the line that goes beside the newest tool result."""
    return f"[{NAME}] {_what_repeats(finding)} {_what_to_do(finding)}"


def hint_text(call: CallRecord, occurrences: int, language: str) -> str:
    """Return the line that the user sees; `language` is `en` or `zh`."""
    return HINTS[language].format(
        name=NAME, subject=subject(call), evidence=call.signature or call.tool, occurrences=occurrences
    )


def echo_request(hint: str) -> str:
    """Return the request to repeat the hint, for agents that do not show it to the user."""
    return f"[{NAME}] Open your next reply with this line, word for word: {hint}"


def subject(call: CallRecord) -> str:
    """Return what the user or the model knows the call by: its command, or tool and target."""
    if call.command:
        line = " ".join(call.command.split()).replace("`", "'")
        if len(line) > SUBJECT_CHARACTERS_MAX:
            line = line[: SUBJECT_CHARACTERS_MAX - 1] + "…"
        return f"`{line}`"
    return f"{call.tool} {call.target}".strip()


def _what_repeats(finding: Finding) -> str:
    call, count = finding.call, finding.occurrences
    if not call.failed:
        return f"{subject(call)} has given the same result {count} times in this turn."
    how = f" ({call.signature})" if call.signature else ""
    if finding.rule == "same_failure":
        return f"The last {count} attempts failed in the same way{how}, most recently {subject(call)}."
    if finding.edits_between:
        unchanged = "the edits between changed nothing"
        return f"{subject(call)} has failed {count} times in the same way{how}; {unchanged}."
    return f"{subject(call)} has failed {count} times in the same way{how}."


def _what_to_do(finding: Finding) -> str:
    if not finding.call.failed:
        return "Running it again will not tell more: use what it said, or look elsewhere."
    return (
        "Repeating it will not help: read the error and the code it points to afresh, question the "
        "assumption behind these attempts, and try a different approach, or say what blocks you."
    )
