"""Exit codes that really are a run's own: the whole call's, or one that the command printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.calls import Role
from tokeneconomizer.domain.verdicts.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokeneconomizer.domain.verdicts.calls import Call
    from tokeneconomizer.domain.verdicts.output import Output

TIMED_OUT = 124
NOT_EXECUTABLE = 126
NOT_FOUND = 127
FIRST_SIGNAL = 128
LAST_SIGNAL = 192
"""Exit codes above this are a program's own, such as PHP's 255."""

_STATUS = r"\$\?|\$\{\?\}"
_FIRST_OF_PIPE = r"\$\{PIPESTATUS\[0\]\}|\$\{pipestatus\[1\]\}"
_STATUS_WORD = re.compile(_STATUS)
_PIPE_WORD = re.compile(_FIRST_OF_PIPE)
_ASSIGNED = re.compile(rf"\b(?P<name>[A-Za-z_]\w*)=[\"']?(?:(?P<pipe>{_FIRST_OF_PIPE})|(?P<plain>{_STATUS}))")
_CODE_CHARACTERS = 200

_TELLING = frozenset({"echo", "printf"})

_PLAIN, _OF_PIPE = "plain", "pipe"


def statuses_of(command: str, calls: Sequence[Call], exit_code: int | None, output: Output) -> dict[int, int]:
    """Return the known exit codes of runs by their position."""
    known: dict[int, int] = {}
    running = [call for call in calls if call.role in {Role.RUNNER, Role.WRAPPER}]
    for call in running:
        run = call.invocation
        if exit_code is not None and (run.status_decides or (run.needed_for_success and exit_code == 0)):
            known[run.position] = exit_code
    known.update(_printed(command, calls, running, output))
    return known


def _printed(
    command: str, calls: Sequence[Call], running: Sequence[Call], output: Output
) -> Mapping[int, int]:
    variables = {
        match["name"]: _OF_PIPE if match["pipe"] else _PLAIN
        for match in _ASSIGNED.finditer(command[: 64 * 1024])
    }
    found: dict[int, int] = {}
    for call in calls:
        if call.program.name not in _TELLING or not running:
            continue
        before = _just_before(call, calls)
        text = " ".join(word for word in call.program.arguments if not re.fullmatch(r"-[neE]+", word))
        if before is None or before not in running:
            continue
        run = before.invocation
        told = _told_by_operator(command, text, output)
        if told is not None and not run.piped_into:
            found.setdefault(run.position, told)
        kind, pattern = _pattern(text, variables)
        if pattern is None:
            continue
        if run.piped_into != (kind == _OF_PIPE):
            # `$?` after a pipe is that of its last program.
            continue
        for line in reversed(output.lines):
            match = pattern.fullmatch(line.strip()) if len(line) <= _CODE_CHARACTERS else None
            if match is not None:
                found[run.position] = int(match[1])
                break
    return found


def _just_before(call: Call, calls: Sequence[Call]) -> Call | None:
    """Return whose exit code a call can tell: what ran before it, apart from other words and filters."""
    earlier = [other for other in calls if other.invocation.position < call.invocation.position]
    while earlier and (earlier[-1].program.name in _TELLING or _is_fed(earlier)):
        earlier.pop()
    return earlier[-1] if earlier else None


def _is_fed(calls: Sequence[Call]) -> bool:
    return len(calls) > 1 and calls[-2].invocation.piped_into


def _told_by_operator(command: str, text: str, output: Output) -> int | None:
    """Return what `&& echo OK` and `|| echo FAILED` tell by having printed their words."""
    words = text.strip()
    if not words or len(words) > _CODE_CHARACTERS or "$" in words or "`" in words:
        return None
    operator = re.search(rf"(&&|\|\|)\s*[({{]?\s*(?:echo|printf)\s+[\"']?{re.escape(words)}", command)
    if operator is None or not any(line.strip() == words for line in output.lines):
        return None
    return 0 if operator[1] == "&&" else 1


def _pattern(text: str, variables: Mapping[str, str]) -> tuple[str, re.Pattern[str] | None]:
    """Return what a printed line looks like, with the code as its group."""
    if len(text) > _CODE_CHARACTERS:
        return _PLAIN, None
    for kind, word in ((_OF_PIPE, _PIPE_WORD), (_PLAIN, _STATUS_WORD)):
        if word.search(text):
            return kind, _compiled(word, text)
    for name, kind in variables.items():
        word = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
        if word.search(text):
            return kind, _compiled(word, text)
    return _PLAIN, None


def _compiled(word: re.Pattern[str], text: str) -> re.Pattern[str] | None:
    before, _, after = word.sub("\0", text, count=1).partition("\0")
    before, after = before.replace("\\n", ""), after.replace("\\n", "")
    if "$" in before or "$" in after or "`" in text:
        return None
    return re.compile(rf"{re.escape(before.strip())}\s*(\d{{1,3}})\s*{re.escape(after.strip())}")


def abnormal(status: int) -> bool:
    """Whether an exit code says that a program was ended, or never began."""
    return (
        status in {TIMED_OUT, NOT_EXECUTABLE, NOT_FOUND} or FIRST_SIGNAL <= status < LAST_SIGNAL or status < 0
    )


def red_verdict(status: int, call: Call) -> Verdict:
    """Return what an exit code other than 0 says by itself."""
    if abnormal(status):
        return Verdict.ERROR
    return call.family.statuses.get(status, Verdict.FAILED) if call.family else Verdict.FAILED
