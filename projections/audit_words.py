"""
What happened, in words: one short English sentence per kind of event.

Texts in events are redacted already; what may still be long is cut, so that a list stays a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.deny_list import GIT_LIST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Fields = Mapping[str, object]

SUMMARY_CHARACTERS_MAX = 1_000
"""A redirect or hint, with our own longest wording, fits whole."""

QUOTE_CHARACTERS_MAX = 200
"""A command, signature or value is recognised by its beginning."""

NAMES_SHOWN = 5
"""Of a list of tools or files; the event holds all of them."""

MS_PER_S = 1000


def summary_of(topic: str, data: Fields) -> str:
    """
    Return the sentence for an event.

    Raises:
        KeyError: the topic has no words, or a field is missing.
        TypeError, ValueError: a field is not of its type.

    """
    return _cut(WORDS[topic](data), SUMMARY_CHARACTERS_MAX)


def words_of(topic: str, data: Fields) -> str:
    """Return the sentence for an event, or one that says that this version has none for it."""
    try:
        return summary_of(topic, data)
    except (KeyError, TypeError, ValueError):
        return f"this version has no words for {topic}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _quote(value: object) -> str:
    return _cut(" ".join(str(value).split()), QUOTE_CHARACTERS_MAX)


def _count(value: object, noun: str) -> str:
    if not isinstance(value, int):
        message = f"{value!r} is no count of {noun}s"
        raise TypeError(message)
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def _names(value: object) -> str:
    if not isinstance(value, list):
        message = f"{value!r} is no list of names"
        raise TypeError(message)
    shown = ", ".join(_quote(name) for name in value[:NAMES_SHOWN])
    more = len(value) - NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown or "nothing"


def _in_brackets(value: object) -> str:
    return f" ({_quote(value)})" if value else ""


def _seconds(milliseconds: object) -> str:
    if not isinstance(milliseconds, int):
        message = f"{milliseconds!r} is no duration"
        raise TypeError(message)
    return f"{milliseconds / MS_PER_S:,.1f} s"


def _session_started(data: Fields) -> str:
    if data["agent_id"]:
        return f"Sub-agent started{_in_brackets(data['agent_type'])}"
    if data["source"] == "unseen":
        return "Session seen for the first time, already running"
    model = f", model {_quote(data['model'])}" if data["model"] else ""
    return f"Session started{_in_brackets(data['source'])}{model}"


def _session_resumed(data: Fields) -> str:
    tokens = data["context_tokens"]
    size = "" if tokens is None else f", {_count(tokens, 'token')} in its context"
    cache = ", its prompt cache has expired" if data["cache_expired"] else ""
    return f"Session resumed{_in_brackets(data['source'])}{size}{cache}"


def _facts_injected(data: Fields) -> str:
    return f"Facts block {data['block_version']} injected, {_count(len(str(data['text'])), 'character')}"


def _prompt_submitted(data: Fields) -> str:
    who = "Prompt" if data["kind"] == "human" else "Machine-made prompt"
    named = [*_listed(data["tools_named"]), *_listed(data["skills_named"])]
    naming = f", naming {_names(named)}" if named else ""
    return f"{who} of {_count(data['characters'], 'character')} opened turn {data['turn']}{naming}"


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _tool_called(data: Fields) -> str:
    subject = data["command"] or data["target"]
    background = " in the background" if data["background"] else ""
    return f"Called {_quote(data['tool'])}{background}{f': {_quote(subject)}' if subject else ''}"


def _tool_returned(data: Fields) -> str:
    status = data["status"]
    if status == "never_ran":
        return "The call never ran"
    if status == "ok":
        return f"The call succeeded, {_count(data['output_characters'], 'character')}"
    exit_code = data["exit_code"]
    code = "" if exit_code is None else f" with exit status {exit_code}"
    interrupted = ", interrupted" if data["interrupted"] else ""
    return f"The call failed{code}{interrupted}{_in_brackets(data['signature'])}"


def _step_ended(data: Fields) -> str:
    return f"Step {data['step']} of turn {data['turn']} is complete"


def _gate_fired(data: Fields) -> str:
    return (
        f"Gate fired in turn {data['turn']}: {_quote(data['measure'])} {data['value']} over {data['limit']}"
    )


def _judge_asked(data: Fields) -> str:
    return f"Judge asked about turn {data['turn']}, with {_count(data['digest_characters'], 'character')}"


def _verdict_given(data: Fields) -> str:
    confidence = data["confidence"]
    sure = "" if confidence is None else f", confidence {confidence}"
    return f"Judge's verdict on turn {data['turn']}: {_quote(data['verdict'])}{sure}"


def _redirected(data: Fields) -> str:
    return (
        f"Redirected turn {data['turn']} at its call {data['call_number']} "
        f"(rule {_quote(data['rule'])}, {_count(data['occurrences'], 'occurrence')}): {data['text']}"
    )


def _stop_hinted(data: Fields) -> str:
    echo = ", the model was asked to repeat it" if data["echo"] else ""
    return f"Stop hint in turn {data['turn']} at its call {data['call_number']}{echo}: {data['text']}"


def _delivery_failed(data: Fields) -> str:
    what = UNDELIVERED.get(str(data["failed_topic"]), "answer")
    return f"The {what} did not reach the agent{_in_brackets(data['reason'])}: it does not count"


def _compacted(data: Fields) -> str:
    characters = data["summary_characters"]
    size = "" if characters is None else f" to a summary of {_count(characters, 'character')}"
    return f"Conversation compacted{_in_brackets(data['trigger'])}{size}"


def _turn_ended(data: Fields) -> str:
    return (
        f"Turn {data['turn']} ended {_quote(data['outcome'])}{_in_brackets(data['reason'])}: "
        f"{_count(data['calls'], 'call')}, {_count(data['failures'], 'failure')}, "
        f"{_count(data['edits'], 'edit')}, {_seconds(data['duration_ms'])}"
    )


def _context_accounted(data: Fields) -> str:
    parts = ", ".join(_tokens_by_kind(str(data["snapshot"])))
    return f"Context of turn {data['turn']} accounted{f', in tokens: {parts}' if parts else ''}"


def _tokens_by_kind(snapshot: str) -> list[str]:
    """Return kinds with their tokens; nothing where the text is no snapshot."""
    try:
        entries = orjson.loads(snapshot)["entries"]
        return [f"{_quote(kind)} {entry['tokens']:,}" for kind, entry in entries.items()]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []


def _session_ended(data: Fields) -> str:
    return f"Session ended{_in_brackets(data['reason'])}"


def _session_archived(data: Fields) -> str:
    return f"Session archived{_in_brackets(data['reason'])}"


def _usage_opened(_data: Fields) -> str:
    return "Usage is counted from here on"


def _usage_recorded(data: Fields) -> str:
    output = data["output_tokens"]
    size = "" if output is None else f", {_count(output, 'output token')}"
    return f"Usage of a reply recorded: {_quote(data['model'] or 'unknown model')}{size}"


def _microskills_opened(_data: Fields) -> str:
    return "Facts are gathered from here on"


def _block_rendered(data: Fields) -> str:
    return (
        f"Facts block rendered, {_count(len(str(data['text'])), 'character')}, rules {data['rule_version']}"
    )


def _fact_pinned(data: Fields) -> str:
    return f"Fact {_quote(data['fact_id'])} pinned by the user"


def _fact_retired(data: Fields) -> str:
    return f"Fact {_quote(data['fact_id'])} retired by the user"


def _fact_proposed(data: Fields) -> str:
    return f"Fact {_quote(data['fact_id'])} proposed by a side call: {_quote(data['text'])}"


def _identity_linked(data: Fields) -> str:
    return f"Repository is the same as {_quote(data['other_repository'])}"


def _prune_opened(_data: Fields) -> str:
    return "Tool use is watched from here on"


def _catalog_recorded(data: Fields) -> str:
    return f"Tool catalogue recorded{_in_brackets(data['agent_version'])}"


def _prune_proposed(data: Fields) -> str:
    return f"Proposed to deny {_names(data['names'])}" if data["names"] else "Nothing is to be denied now"


def _deny_list_pended(data: Fields) -> str:
    return f"Deny list is pending: {_names(data['names'])} (approved by {_quote(data['approved_by'])})"


def _deny_list_written(data: Fields) -> str:
    overridden = ", without the idle wait" if data["overridden"] else ""
    return f"Deny list written to {_quote(data['file'])}: {_names(data['names'])}{overridden}"


def _deny_list_refused(data: Fields) -> str:
    why = f"{_quote(data['reason'])}{_in_brackets(data['detail'])}"
    if data["file"] == GIT_LIST:
        return f"Git's own list of ignored files not changed: {why}"
    return f"Deny list not written to {_quote(data['file'])}: {why}"


def _deny_list_restored(data: Fields) -> str:
    return f"Deny list taken back from {_quote(data['file'])}: {_names(data['names'])}"


def _setup_opened(data: Fields) -> str:
    return f"First set-up of {'all agents' if data['host'] == '*' else _quote(data['host'])}"


def _setup_changed(data: Fields) -> str:
    verb = "Installed into" if data["action"] == "install" else "Removed from"
    return f"{verb} the agent: {_names(data['files'])}"


def _side_call_made(data: Fields) -> str:
    cost = data["cost_usd"]
    spent = "cost unknown" if cost is None else f"{cost} USD"
    return f"Side call to {_quote(data['purpose'])}{_in_brackets(data['model'])}: {spent}"


def _policy_set(data: Fields) -> str:
    where = f" for {_quote(data['repository'])}" if data["repository"] else ""
    if data["value"] == "null":
        return f"Setting {_quote(data['key'])} removed{where}"
    return f"Setting {_quote(data['key'])} is {_quote(data['value'])}{where}"


UNDELIVERED = {
    "session.redirected": "redirect",
    "session.stop_hinted": "stop hint",
    "session.facts_injected": "facts block",
}

WORDS: dict[str, Callable[[Fields], str]] = {
    "session.started": _session_started,
    "session.resumed": _session_resumed,
    "session.facts_injected": _facts_injected,
    "session.prompt_submitted": _prompt_submitted,
    "session.tool_called": _tool_called,
    "session.tool_returned": _tool_returned,
    "session.step_ended": _step_ended,
    "session.gate_fired": _gate_fired,
    "session.judge_asked": _judge_asked,
    "session.verdict_given": _verdict_given,
    "session.redirected": _redirected,
    "session.stop_hinted": _stop_hinted,
    "session.delivery_failed": _delivery_failed,
    "session.compacted": _compacted,
    "session.turn_ended": _turn_ended,
    "session.context_accounted": _context_accounted,
    "session.ended": _session_ended,
    "session.archived": _session_archived,
    "usage.opened": _usage_opened,
    "usage.recorded": _usage_recorded,
    "microskills.opened": _microskills_opened,
    "microskills.block_rendered": _block_rendered,
    "microskills.fact_pinned": _fact_pinned,
    "microskills.fact_retired_by_user": _fact_retired,
    "microskills.fact_proposed": _fact_proposed,
    "microskills.identity_linked": _identity_linked,
    "tool_prune.opened": _prune_opened,
    "tool_prune.catalog_recorded": _catalog_recorded,
    "tool_prune.proposed": _prune_proposed,
    "tool_prune.deny_list_pended": _deny_list_pended,
    "tool_prune.deny_list_written": _deny_list_written,
    "tool_prune.deny_list_refused": _deny_list_refused,
    "tool_prune.deny_list_restored": _deny_list_restored,
    "setup.opened": _setup_opened,
    "setup.changed": _setup_changed,
    "setup.side_call_made": _side_call_made,
    "setup.policy_set": _policy_set,
}
