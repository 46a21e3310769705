"""
What is said about a circle, in English or Chinese: what repeats, ways out, and a hint for the user.

Nothing of an output enters these lines: only the redacted command, the tool's name, counts and the masked
words of a failure, each bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.finding import Finding

NAME = "tokeneconomizer"

SUBJECT_CHARACTERS_MAX = 80
"""A command is recognised by its beginning; the line stays one line."""

HINTS = {
    "en": "{name}: this turn is still going in circles ({subject}, {evidence}, {occurrences} times). "
    "You may want to stop it and say what to do differently.",
    "zh": "{name}：本轮仍在原地打转（{subject}，{evidence}，已 {occurrences} 次）。"
    "建议停下来，告诉它换个做法。",
}

ECHOES = {
    "en": "[{name}] Open your next reply with this line, word for word: {hint}",
    "zh": "[{name}] 请在下一次回复的开头逐字写出这一行：{hint}",
}

WHAT_REPEATS = {
    "en": {
        "failed": "{subject} has failed {count} times in the same way{how}.",
        "failed_with_edits": "{subject} has failed {count} times in the same way{how}; "
        "the edits between changed nothing.",
        "same_result": "{subject} has given the same result {count} times; nothing was changed between.",
        "same_read": "{subject} has been read {count} times and has not changed.",
        "same_failure": "The last {count} attempts failed in the same way{how}, most recently {subject}.",
        "edit_refused": "{subject} has failed to apply {count} times in the same way{how}.",
        "cycle": "{subject} has come round {count} times, with {others} other calls, each with the result "
        "that it had before.",
        "back_and_forth": "{subject} goes back and forth: {count} times now to a content that the file had "
        "before.",
        "failures_return": "{subject} fails in turns: the edits between brought back an earlier failure "
        "{count} times{how}.",
    },
    "zh": {
        "failed": "{subject} 已以同样的方式失败 {count} 次{how}。",
        "failed_with_edits": "{subject} 已以同样的方式失败 {count} 次{how}；其间的修改没有任何作用。",
        "same_result": "{subject} 已 {count} 次给出同样的结果；其间没有任何改动。",
        "same_read": "{subject} 已读取 {count} 次，内容没有变化。",
        "same_failure": "最近 {count} 次尝试都以同样的方式失败{how}，最后一次是 {subject}。",
        "edit_refused": "{subject} 已 {count} 次以同样的方式未能应用{how}。",
        "cycle": "{subject} 连同另外 {others} 个调用已循环 {count} 轮，每次结果都与之前相同。",
        "back_and_forth": "{subject} 来回改动：已 {count} 次改回文件先前的内容。",
        "failures_return": "{subject} 的失败反复出现：其间的修改已 {count} 次带回先前的失败{how}。",
    },
}
"""By language and by what was seen."""

WAYS_OUT = {
    "en": {
        "failure": "Repeating it will not help: read the error and the code it points to afresh, question "
        "the assumption behind these attempts, and try a different approach, or say what blocks you.",
        "machine": "That lies in this machine, not in the project: look for what is there instead, install "
        "what is missing if you may, or say what you need.",
        "refused": "Look at the exact bytes of that place in the file, then make a smaller edit or write the "
        "part anew; or say what blocks you.",
        "result": "Running it again will not tell more: use what it said, or look elsewhere.",
        "circle": "Another round will not tell more: say what you know by now, decide on it, and do the next "
        "thing, or say what blocks you.",
        "returns": "Both ways were tried: find out what each of them breaks and why, then make one change "
        "that meets both, or say what blocks you.",
    },
    "zh": {
        "failure": "再次重复无济于事：请重新阅读错误及其指向的代码，质疑这些尝试背后的假设，换一种做法，"
        "或说明是什么阻碍了你。",
        "machine": "问题在这台机器，而不在项目中：请寻找现有的替代，在允许时安装缺少的部分，"
        "或说明你需要什么。",
        "refused": "请查看文件中该处的确切字节，再做更小的修改，或重写这一部分；或说明是什么阻碍了你。",
        "result": "再运行一次也不会得到更多：请使用已有的结果，或到别处寻找。",
        "circle": "再来一轮也不会得到更多：请总结已知的内容，据此作出决定并继续下一步，"
        "或说明是什么阻碍了你。",
        "returns": "两种做法都已试过：请查明各自破坏了什么、为什么，再做一个兼顾两者的修改，"
        "或说明是什么阻碍了你。",
    },
}

_HOW = {"en": " ({signature})", "zh": "（{signature}）"}

_WAY_OUT_OF = {
    "edit_refused": "refused",
    "cycle": "circle",
    "back_and_forth": "returns",
    "failures_return": "returns",
}


def redirect_text(finding: Finding, language: str) -> str:
    """Return the line that goes beside the newest tool result; `language` is `en` or `zh`."""
    call = finding.call
    how = _HOW[language].format(signature=call.signature) if call.failed and call.signature else ""
    what = WHAT_REPEATS[language][_seen(finding)].format(
        subject=subject(call), count=finding.occurrences, others=finding.others, how=how
    )
    return f"[{NAME}] {what} {WAYS_OUT[language][_way_out(finding)]}"


def hint_text(call: CallRecord, occurrences: int, language: str) -> str:
    """Return the line that the user sees; `language` is `en` or `zh`."""
    return HINTS[language].format(
        name=NAME,
        subject=subject(call),
        evidence=(call.signature if call.failed else "") or call.tool,
        occurrences=occurrences,
    )


def echo_request(hint: str, language: str) -> str:
    """Return the request to repeat the hint, for agents that do not show it to the user."""
    return ECHOES[language].format(name=NAME, hint=hint)


def subject(call: CallRecord) -> str:
    """Return what the user or the model knows the call by: its command, or tool and target."""
    words = " ".join((call.command or f"{call.tool} {call.target}").split()).replace("`", "'")
    if len(words) > SUBJECT_CHARACTERS_MAX:
        words = words[: SUBJECT_CHARACTERS_MAX - 1] + "…"
    return f"`{words}`" if call.command else words


def _seen(finding: Finding) -> str:
    if finding.rule != "same_call":
        return finding.rule
    if not finding.call.failed:
        return "same_result"
    return "failed_with_edits" if finding.edits_between else "failed"


def _way_out(finding: Finding) -> str:
    if finding.rule in _WAY_OUT_OF:
        return _WAY_OUT_OF[finding.rule]
    if not finding.call.failed:
        return "result"
    return "machine" if finding.call.lies_in_the_machine else "failure"
