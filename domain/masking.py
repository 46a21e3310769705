"""
What stays the same between two runs of the same thing: results and errors without what merely varies.

`mask_result` is a chain of small steps, each from text to text. The masked text is made to be hashed and
thrown away; in words a failure says only what `failure_words` lists.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from tokeneconomizer.domain.character_pairs import pairs_in, pairs_of
from tokeneconomizer.domain.failure_words import (
    CLASS_NAME,
    CODE,
    ERRNO,
    ERRNO_NAMES,
    ERROR_MARKS,
    EXCEPTION_KINDS,
    EXCEPTION_NAMES,
    HTTP_STATUS,
    PHRASES,
    TEST_FAILED,
)

# The beginning and the end of an output, and the number of lines between, say whether it is the same again.
# Masking takes 30 us a thousand characters, and the agent waits for it.
RESULT_HEAD_CHARACTERS_MAX = 4_096
RESULT_TAIL_CHARACTERS_MAX = 4_096
# Errors are looked for in more: finding lines is cheaper than masking them, and a cause may stand far up.
FAILURE_HEAD_CHARACTERS_MAX = 16_384
FAILURE_TAIL_CHARACTERS_MAX = 16_384
# Finding out which marks a shorter text may hold takes longer than looking for all of them.
SEARCHED_AT_ONCE_CHARACTERS_MAX = 4_096
# The first errors are causes, the last ones summaries; what lies between repeats them.
ERROR_LINES_FIRST_MAX = 6
ERROR_LINES_LAST_MAX = 6
# Beyond this a line is a dump of data.
ERROR_LINE_CHARACTERS_MAX = 400
# Words of a signature are read by people in tables.
SIGNATURE_CHARACTERS_MAX = 120
SIGNATURE_WORDS_MAX = 4
# What a process can return.
_EXIT_STATUS_MAX = 255
# Of an absolute path: the folder and the name; with what is before them that is more than two parts.
_NAMES_KEPT = 2
# Counts stand in columns, but not further apart.
BEFORE_TALLY_CHARACTERS = 20
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# An abbreviated commit has seven.
HEXADECIMAL_CHARACTERS_MIN = 7

# Every expression of the chain starts with what it looks for and looks behind afterwards, so that the engine
# can skip over text without it: the chain is three times as fast.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)?|[@-Z\\^_])")
_HEXADECIMAL = re.compile(
    r"[0-9a-fA-F](?<![\w-].)(?:x[0-9a-fA-F]++|[0-9a-fA-F]{6,127}+(?:(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?)(?!\w)",
)
# Digits and letters of hexadecimal numbers are `h`, the rest but `x` is blank.
_HEXADECIMAL_SHAPE = bytes(
    ord("h") if chr(code) in "0123456789abcdefABCDEF" else code if chr(code) == "x" else ord(" ")
    for code in range(256)
)
_DIGIT = re.compile(r"[0-9]")
_DIGITS = re.compile(r"[0-9]++")
_LETTERS_FOR_DIGITS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")
_PATH = re.compile(r"/(?<![\w.~:<>/-].)(?>(?:[\w.@%+=,~-]++/?)+)")
_TEMPORARY_ROOT = re.compile(
    r"(?:/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/]{1,40}/[^/]{1,80}/[A-Z])(?:/[^/]++)?",
)
_UNITS = r"(?:ms|msecs?|secs?|seconds?|mins?|minutes?|hours?|hrs?|days?|µs|us|ns|s|m|h|d)"
_QUANTITY = re.compile(
    r"[0-9](?<![A-Za-z0-9_].)(?:"
    r"[0-9]{3}[-/][0-9]{1,2}[-/][0-9]{1,2}(?:[T ][0-9]{1,2}:[0-9:.,]++)?"
    r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\b)?"
    r"|[0-9]?:[0-9][0-9:.,]*+(?: ?[AP]M\b)?"
    rf"|[0-9]*+(?:[.,][0-9]++)?\s?{_UNITS}\b(?>(?:[ ,:]?[0-9]++(?:\.[0-9]++)?\s?{_UNITS}\b)*)"
    r"|[0-9]*+(?>(?:[.,:][0-9]++)*))",
)
_DAY = "(?:(?<=M)on|(?<=T)ue|(?<=W)ed|(?<=T)hu|(?<=F)ri|(?<=S)at|(?<=S)un)"
_MONTH = (
    "(?:(?<=J)an|(?<=F)eb|(?<=M)ar|(?<=A)pr|(?<=M)ay|(?<=J)un|(?<=J)ul|(?<=A)ug|(?<=S)ep|(?<=O)ct|(?<=N)ov"
    "|(?<=D)ec)"
)
_DAYS_AND_MONTHS = re.compile(
    rf"[ADFJMNOSTW](?<!\w.)(?:{_DAY},? (?:#,? )?[ADFJMNOS]{_MONTH}|{_MONTH}(?= {{1,2}}#))"
    r",? {1,2}#(?: [A-Z]{3,4}\b)?(?: #)*",
)

# How many tests or checks ended how: a number that says whether the work moves, where others merely vary.
_TALLY_WORDS = (
    "pass(?:ed|ing)?|fail(?:ed|ing|ures?)?|skipped|todo|errored|errors|warnings|problems|tests|total"
)
# Looked for first, in small letters: most results hold no counts, and the agent waits.
_TALLY_MARKS = (
    *(" pass", " fail", " errors", " errored", " skipped", " warnings", " problems", " tests", " total"),
    *(
        "pass:",
        "fail:",
        "failed:",
        "passed:",
        "failures:",
        "failures=",
        "errors:",
        "errors=",
        "total:",
        "tests:",
    ),
)
_TALLY_BEFORE_WORD = re.compile(rf"[0-9](?<![\w.:/-].)[0-9]{{0,5}}+ (?:{_TALLY_WORDS})\b", re.IGNORECASE)
_TALLY_AFTER_WORD = re.compile(r"[:=](?<=[a-z].) {0,9}[0-9]{1,6}+(?![\w.:/%-])", re.IGNORECASE)
_ENDS_IN_TALLY_WORD = re.compile(rf"\b(?:{_TALLY_WORDS})\Z", re.IGNORECASE)
_TAP_TALLY = re.compile(r"# (?:tests|pass|fail|skipped|todo) [0-9]{1,6}+$", re.MULTILINE)
# What a count may follow in a list of them; after another word it is a name: `worker 3 failed`.
_BEFORE_TALLY = frozenset("\n,;:(|#")

_TAGS = re.compile(r"</?(?:tool_use_error|error|system-reminder)>")
# What follows this line of an editing tool is the text that was looked for.
_EDIT_REFUSALS = ("String to replace not found", "Found ", "Your proposed edit ")
_QUOTED_INPUT = re.compile(r"\n(?:(?:String|old_string): |This is how your edit would have looked)[\s\S]*+")
_EXIT_LINE = re.compile(
    r"\s*(?:Error: )?(?:Exit code|exit status|(?:Process|Command) exited with code"
    r"|Command failed with exit code)"
    r" ?(\d{1,3})\.?\s*",
)
_WRAPPER_LINE = re.compile(
    r"\s*(?:Sibling tool call errored.*|\[Request interrupted by user.*|Traceback \(most recent call last\):"
    r"|(?:npm|pnpm|yarn)? ?(?:ERR!|error)?\s*(?:ELIFECYCLE)?\s*Command failed with exit code \d+\.?)\s*",
)
_NOTHING_WRONG = re.compile(r"\b(?:0|no) (?:errors?|fail(?:ed|ures?|s)?|warnings?|problems?|exceptions?)\b")
_WRONG_AFTER_ALL = re.compile(r"\b[1-9]\d{0,8} (?:errors?|fail(?:ed|ures?|s)?)\b")


def cut_middle(text: str) -> str:
    """Keep the beginning and the end of a large text, and how many lines lie between."""
    end = len(text) - RESULT_TAIL_CHARACTERS_MAX
    if end <= RESULT_HEAD_CHARACTERS_MAX:
        return text
    lines = text.count("\n", RESULT_HEAD_CHARACTERS_MAX, end)
    # Letters only, so that the number is not masked as one that varies.
    between = f"{lines:x}".translate(_LETTERS_FOR_DIGITS)
    return f"{text[:RESULT_HEAD_CHARACTERS_MAX]}\n{between}\n{text[end:]}"


def keep_tallies(text: str) -> str:
    """Write the counts of a test run in letters, which are not masked: `2 failed` is not `1 failed`."""
    small = text.lower()
    if not any(mark in small for mark in _TALLY_MARKS):
        return text

    def in_letters(found: re.Match[str]) -> str:
        return _DIGITS.sub(lambda number: number[0].translate(_LETTERS_FOR_DIGITS), found[0])

    def before_word(found: re.Match[str]) -> str:
        before = _just_before(found).rstrip(" \t")
        is_name = before and before[-1] not in _BEFORE_TALLY
        return found[0] if is_name else in_letters(found)

    def after_word(found: re.Match[str]) -> str:
        return in_letters(found) if _ENDS_IN_TALLY_WORD.search(_just_before(found)) else found[0]

    text = _TALLY_BEFORE_WORD.sub(before_word, text)
    text = _TALLY_AFTER_WORD.sub(after_word, text)
    return _TAP_TALLY.sub(in_letters, text) if "# " in text else text


def _just_before(found: re.Match[str]) -> str:
    return found.string[max(0, found.start() - BEFORE_TALLY_CHARACTERS) : found.start()]


def drop_colours(text: str) -> str:
    """Take terminal control sequences out."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def mask_hexadecimal(text: str) -> str:
    """Mask hashes, UUIDs and addresses in memory; a word without any digit (`defaced`) is none."""

    def masked(run: re.Match[str]) -> str:
        word = run.group()
        return "<hex>" if _DIGIT.search(word) and not word.isdigit() else word

    # Half the letters of a text may begin such a word; whether any run is long enough is found out faster.
    shape = text.encode("ascii", "replace").translate(_HEXADECIMAL_SHAPE)
    is_possible = b"h" * HEXADECIMAL_CHARACTERS_MIN in shape or b"hxh" in shape
    return _HEXADECIMAL.sub(masked, text) if is_possible else text


def mask_paths(text: str) -> str:
    """Keep the last folder and the name of an absolute path, and of a temporary one the name alone."""

    def masked(found: re.Match[str]) -> str:
        path = found.group()
        temporary = _TEMPORARY_ROOT.match(path)
        if temporary:
            return "<tmp>/" + path[temporary.end() :].rpartition("/")[2]
        names = path.rsplit("/", 2)
        return "<dir>/" + "/".join(names[1:]) if len(names) > _NAMES_KEPT and names[0] else path

    return _PATH.sub(masked, text) if "/" in text else text


def mask_quantities(text: str) -> str:
    """
    Mask numbers with their units, dates and times of day: `0.98s` and `1m 2s` are the same.

    Digits inside a name or a code (`TS2304`, `test_2`) stay: they tell things apart.
    """
    return _QUANTITY.sub("#", text)


def mask_days(text: str) -> str:
    """Mask names of days and months that belong to a date."""
    return _DAYS_AND_MONTHS.sub("#", text) if any(month in text for month in _MONTHS) else text


MASKING_STEPS: tuple[Callable[[str], str], ...] = (
    cut_middle,
    drop_colours,
    keep_tallies,
    mask_hexadecimal,
    mask_paths,
    mask_quantities,
    mask_days,
)


def mask_result(text: str) -> str:
    """Mask what varies between two runs of the same thing; the text is to be hashed, not to be stored."""
    for step in MASKING_STEPS:
        text = step(text)
    return text


def failure_signature(text: str) -> tuple[str, str]:
    """
    Tell what went wrong: in words of a closed vocabulary, and in the masked lines of the output.

    The words are safe to store. The lines quote the output: they are for the caller to hash and drop. Both
    are empty where no line tells of an error; an exit status alone is told in words and has no lines.
    """
    if len(text) > FAILURE_HEAD_CHARACTERS_MAX + FAILURE_TAIL_CHARACTERS_MAX:
        text = f"{text[:FAILURE_HEAD_CHARACTERS_MAX]}\n{text[-FAILURE_TAIL_CHARACTERS_MAX:]}"
    plain = _TAGS.sub("", drop_colours(text)).lstrip()
    if plain.startswith(_EDIT_REFUSALS):
        plain = _QUOTED_INPUT.sub("", plain)
    lines = _error_lines(plain)
    words: dict[str, None] = {}
    for line in lines:
        words.update(dict.fromkeys(_words_of(line)))
    if not lines:
        return _exit_words(plain), ""
    said = ", ".join(list(words)[:SIGNATURE_WORDS_MAX])[:SIGNATURE_CHARACTERS_MAX]
    return said or "error", mask_result("\n".join(lines))


def _error_lines(text: str) -> list[str]:
    """Find the first and the last lines that tell of an error."""
    small = text.lower()
    marks: Sequence[str] = ERROR_MARKS
    if len(small) > SEARCHED_AT_ONCE_CHARACTERS_MAX:
        pairs = pairs_in(small)
        marks = [mark for mark in marks if pairs_of(mark) <= pairs]
    lines = text.split("\n")
    starts = tuple(accumulate(map((1).__add__, map(len, small.split("\n"))), initial=0))
    places: set[int] = set()
    for mark in marks:
        position = small.find(mark)
        while position >= 0:
            place = bisect_right(starts, position) - 1
            places.add(place)
            position = small.find(mark, starts[place + 1])
    found = dict.fromkeys(lines[place].strip()[:ERROR_LINE_CHARACTERS_MAX] for place in sorted(places))
    distinct = [line for line in found if _tells(line)]
    if len(distinct) <= ERROR_LINES_FIRST_MAX + ERROR_LINES_LAST_MAX:
        return distinct
    return distinct[:ERROR_LINES_FIRST_MAX] + distinct[-ERROR_LINES_LAST_MAX:]


def _tells(line: str) -> bool:
    """Whether a line with an error's mark is neither a wrapper nor a report that all is well."""
    small = line[:ERROR_LINE_CHARACTERS_MAX].lower()
    if _EXIT_LINE.fullmatch(line) or _WRAPPER_LINE.fullmatch(line):
        return False
    return not _NOTHING_WRONG.search(small) or _WRONG_AFTER_ALL.search(small) is not None


def _words_of(line: str) -> list[str]:
    words: list[str] = []
    for name in CLASS_NAME.findall(line):
        kind = next((kind for kind in EXCEPTION_KINDS if name.endswith(kind)), "")
        if name in EXCEPTION_NAMES:
            words.append(name)
        elif kind and name != kind:
            words.append(kind)
    words += CODE.findall(line)
    words += [name for name in ERRNO.findall(line) if name in ERRNO_NAMES]
    words += [f"HTTP {status}" for status in HTTP_STATUS.findall(line)]
    small = line.lower()
    words += [phrase.rstrip(":") for phrase in PHRASES if phrase in small]
    if TEST_FAILED.search(line):
        words.append("FAILED")
    return words


def _exit_words(text: str) -> str:
    for line in text.split("\n"):
        status = _EXIT_LINE.fullmatch(line)
        if status:
            return exit_words(int(status[1]))
    return ""


def exit_words(status: int) -> str:
    """Tell a failure of which only the exit status is known."""
    return f"exit {status}" if 0 < status <= _EXIT_STATUS_MAX else ""
