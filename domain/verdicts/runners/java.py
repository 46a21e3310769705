"""JUnit and TestNG: Maven's Surefire, Gradle, the console launcher, JUnit 4's runner, Ant; and sbt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    NO_COUNTS,
    Family,
    LineGrammar,
    by_counts,
    closings,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

# Maven

_MAVEN_PROGRAMS = frozenset({"mvn", "mvnw", "mvnd"})
_TEST_PHASES = frozenset(
    {"test", "package", "integration-test", "verify", "install", "deploy", "post-integration-test"}
)
_SUREFIRE = re.compile(
    r"^(?:\[[A-Z]+\]\s+)?Tests run:\s*(?P<ran>\d+),\s+Failures:\s*(?P<failed>\d+)"
    r"(?:,\s+Errors:\s*(?P<errors>\d+))?"
    r"(?:,\s+Skipped:\s*(?P<skipped>\d+))?(?:,\s+Flakes:\s*\d+)?(?:,\s+Time elapsed:.*)?\s*$"
)
_MAVEN_CLOSINGS = closings(
    "maven-surefire",
    ("COMPILATION ERROR", r"^\[ERROR\] COMPILATION ERROR", Verdict.ERROR, "compilation error"),
    (
        "Compilation failure",
        r"^\[ERROR\] Failed to execute goal .*Compilation failure",
        Verdict.ERROR,
        "compilation error",
    ),
    ("forked VM", r"The forked VM terminated without (?:properly )?saying", Verdict.ERROR, "crash"),
)
_MAVEN_SIGNS = signs(
    "maven-surefire",
    ("<<< ", r"<<< FAILURE!", Verdict.FAILED, "failed test"),
    ("<<< ERROR!", r"<<< ERROR!", Verdict.ERROR, "test with an error"),
    ("There are test failures", r"There are test failures", Verdict.FAILED, "test failures"),
    ("Tests are skipped", r"^\[INFO\] Tests are skipped\.", Verdict.NO_TESTS, "tests are skipped"),
    ("No tests to run", r"^(?:\[INFO\] )?No tests to run\.", Verdict.NO_TESTS, "no tests to run"),
    ("No tests were executed", r"No tests were executed", Verdict.NO_TESTS, "no tests executed"),
    ("BUILD FAILURE", r"^(?:\[[A-Z]+\] )?BUILD FAILURE", Verdict.ERROR, "build failure"),
    ("[ERROR] ", r"^\[ERROR\] (?:Failed to execute goal|No goals|The goal)", Verdict.ERROR, "build error"),
    ("Unknown lifecycle", r"^\[ERROR\] Unknown lifecycle", Verdict.ERROR, "build error"),
    ("BUILD SUCCESS", r"^(?:\[[A-Z]+\] )?BUILD SUCCESS$", Verdict.PASSED, "build success"),
)  # fmt: skip


def _runs_maven(program: Program) -> bool:
    words = [word for word in program.arguments if not word.startswith("-")]
    return program.tool in _MAVEN_PROGRAMS and any(
        word in _TEST_PHASES or word.startswith(("surefire:", "failsafe:")) for word in words
    )


def _lists_maven(program: Program) -> bool:
    switches = ("-DskipTests", "-Dmaven.test.skip", "-DskipTests=true", "-Dmaven.test.skip=true")
    return program.has("--version", "-v", "--help", "-h") or any(
        word in switches for word in program.arguments
    )


def _quiet(program: Program) -> bool:
    return program.has("-q", "--quiet", "-Q")


def _surefire_lines(output: Output, *, classes: bool) -> Iterator[Summary]:
    for index, text in output.containing("Tests run:"):
        match = None if ("Time elapsed" in text) is not classes else _SUREFIRE.match(text)
        if match is None:
            continue
        numbers = {
            name: int(match[name])
            for name in ("ran", "failed", "errors", "skipped")
            if match[name] is not None
        }
        counts = Counts(None, numbers["failed"], numbers.get("errors"), numbers.get("skipped"))
        verdict = by_counts(counts, ran=numbers["ran"])
        rule = "surefire: line of a class" if classes else "surefire: result line"
        yield Summary("maven-surefire", verdict, counts, output.number_at(index), rule, not classes)


def _maven_summaries(output: Output) -> list[Summary]:
    modules = list(_surefire_lines(output, classes=False))
    return [*modules, *read_all(output, *_MAVEN_CLOSINGS)]


def _maven_signs(output: Output) -> list[Summary]:
    classes = list(_surefire_lines(output, classes=True))
    signs_seen = read_all(output, *_MAVEN_SIGNS)
    if any(sign.verdict is Verdict.NO_TESTS for sign in signs_seen):
        signs_seen = [sign for sign in signs_seen if sign.verdict is not Verdict.PASSED]
    if any(sign.verdict is Verdict.FAILED for sign in signs_seen):
        signs_seen = [sign for sign in signs_seen if "build failure" not in sign.rule]
    return [*classes, *signs_seen]


MAVEN = Family(
    "maven-surefire",
    _runs_maven,
    _maven_summaries,
    _maven_signs,
    _lists_maven,
    _quiet,
    statuses={1: Verdict.FAILED},
    several=True,
)

# Gradle

_GRADLE_TASKS = re.compile(r"(?:^|:)(?:\w*[tT]est\w*|check|build|\w*Check|jacocoTestReport)$")
_GRADLE_NO_TEST = re.compile(r"(?:^|:)(?:compile\w*|\w*Classes|process\w*|assemble|clean\w*)$")
_COMPLETED = LineGrammar(
    "gradle",
    " completed",
    re.compile(
        r"^(?P<ran>\d+) tests? completed(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?$"
    ),
)
_GRADLE_CLOSINGS = closings(
    "gradle",
    ("There were failing tests", r"^> There were failing tests", Verdict.FAILED, "failing tests"),
    ("Compilation failed", r"^(?:> )?Compilation (?:failed|error)", Verdict.ERROR, "compilation failed"),
)
_GRADLE_SIGNS = signs(
    "gradle",
    (" FAILED", r"^\S+ > .+ FAILED$", Verdict.FAILED, "failed test"),
    ("No tests found for given", r"^> No tests found for given includes", Verdict.NO_TESTS, "no tests found"),
    ("BUILD FAILED", r"^BUILD FAILED in ", Verdict.ERROR, "build failed"),
    ("FAILURE: Build failed", r"^FAILURE: Build failed", Verdict.ERROR, "build failed"),
)
_GRADLE_GREEN = re.compile(r"^BUILD SUCCESSFUL in ")
_GRADLE_TEST_TASK = re.compile(r"^(?:> Task )?:(?:\S+:)?(?:test|\w+Test)(?P<state> NO-SOURCE| SKIPPED)?$")


def _runs_gradle(program: Program) -> bool:
    words = [word for word in program.arguments if not word.startswith("-")]
    return program.tool in {"gradle", "gradlew"} and any(
        _GRADLE_TASKS.search(word) and not _GRADLE_NO_TEST.search(word) for word in words
    )


def _lists_gradle(program: Program) -> bool:
    excluded = any(
        word in {"-x", "--exclude-task"} and following.rsplit(":", 1)[-1] == "test"
        for word, following in zip(program.arguments, program.arguments[1:], strict=False)
    )
    return excluded or program.has("--version", "-v", "--help", "-h", "--dry-run", "-m")


def _gradle_summaries(output: Output) -> list[Summary]:
    found = [*read_all(output, _COMPLETED), *read_all(output, *_GRADLE_CLOSINGS)]
    green = [index for index, text in output.containing("BUILD SUCCESSFUL") if _GRADLE_GREEN.match(text)]
    if green:
        tasks = [match["state"] for line in output.lines if (match := _GRADLE_TEST_TASK.match(line[:200]))]
        ran = not tasks or any(state is None for state in tasks)
        verdict = Verdict.PASSED if ran else Verdict.NO_TESTS
        number = output.number_at(green[-1])
        found.append(Summary("gradle", verdict, NO_COUNTS, number, "gradle: build successful"))
    return found


GRADLE = Family(
    "gradle",
    _runs_gradle,
    _gradle_summaries,
    reader(*_GRADLE_SIGNS),
    _lists_gradle,
    _quiet,
    statuses={1: Verdict.FAILED},
    several=True,
)

# Console launcher, JUnit 4, TestNG

_LAUNCHER = re.compile(
    r"^\[\s*(?P<number>\d+) (?P<what>tests|containers) (?P<word>found|skipped|started|aborted|"
    r"successful|failed)\s*\]$"
)
_JUNIT4_GREEN = LineGrammar("junit4-runner", "OK (", re.compile(r"^OK \((?P<passed>\d+) tests?\)$"))
_TESTNG = LineGrammar(
    "testng",
    "Total tests run:",
    re.compile(
        r"^Total tests run: (?P<ran>\d+)(?:, Passes: (?P<passed>\d+))?, Failures: "
        r"(?P<failed>\d+), Skips: (?P<skipped>\d+)"
    ),
)
_JUNIT4_RED = LineGrammar(
    "junit4-runner", ",  Failures: ", re.compile(r"^Tests run: (?P<ran>\d+),  Failures: (?P<failed>\d+)$")
)
_LAUNCHER_SIGNS = signs(
    "junit-console",
    ("Failures (", r"^Failures \([1-9]\d*\):$", Verdict.FAILED, "list of failures"),
    ("[X]", r"\[X\] ", Verdict.FAILED, "failed test"),
    (" ✘", r"─ .* ✘ ", Verdict.FAILED, "failed test"),
    general=(" ✘", "[X]"),
)


def _launcher(output: Output) -> Iterator[Summary]:
    tests: dict[str, int] = {}
    containers: dict[str, int] = {}
    for index, text in output.containing(" tests ", " containers "):
        match = _LAUNCHER.match(text)
        if match is None:
            continue
        (tests if match["what"] == "tests" else containers)[match["word"]] = int(match["number"])
        if (match["what"], match["word"]) != ("tests", "failed"):
            continue
        counts = Counts(tests.get("successful"), tests["failed"], None, tests.get("skipped"))
        verdict = by_counts(counts)
        if containers.get("failed") and verdict is not Verdict.FAILED:
            verdict = Verdict.ERROR
        elif verdict is Verdict.PASSED and "successful" not in tests:
            verdict = Verdict.UNKNOWN
        yield Summary("junit-console", verdict, counts, output.number_at(index), "console launcher: counts")
        tests, containers = {}, {}


def _runs_launcher(program: Program) -> bool:
    words = " ".join(program.arguments)
    return program.name == "java" and (
        "org.junit." in words or "junit-platform-console" in words or "org.testng.TestNG" in words
    )


LAUNCHER = Family(
    "junit-console",
    _runs_launcher,
    lambda output: [*_launcher(output), *read_all(output, _JUNIT4_GREEN, _JUNIT4_RED, _TESTNG)],
    reader(*_LAUNCHER_SIGNS),
    lambda program: program.has("--help", "--list-engines", "--version") or "discover" in program.arguments,
    statuses={1: Verdict.FAILED, 2: Verdict.NO_TESTS},
)

# sbt

_SBT = LineGrammar(
    "sbt",
    "Tests: succeeded",
    re.compile(
        r"Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+), canceled \d+, ignored (?P<skipped>\d+)"
    ),
)
_SBT_TOTAL = LineGrammar(
    "sbt",
    ": Total ",
    re.compile(
        r"^\[(?:info|error)\] (?:Passed|Failed|Error): Total \d+, Failed (?P<failed>\d+), "
        r"Errors (?P<errors>\d+), "
        r"Passed (?P<passed>\d+)"
    ),
)
_SBT_CLOSINGS = closings(
    "sbt", ("Compilation failed", r"^\[error\] .*Compilation failed", Verdict.ERROR, "compilation failed")
)
_SBT_SIGNS = signs("sbt", ("*** FAILED ***", r"\*\*\* FAILED \*\*\*", Verdict.FAILED, "failed test"))

SBT = Family(
    "sbt",
    lambda program: (
        program.tool in {"sbt", "sbtn", "mill"} and any("test" in w.lower() for w in program.arguments)
    ),
    reader(_SBT, _SBT_TOTAL, *_SBT_CLOSINGS),
    reader(*_SBT_SIGNS),
    lambda program: program.has("--version", "--help"),
    several=True,
    statuses={1: Verdict.FAILED},
)

FAMILIES = (MAVEN, GRADLE, LAUNCHER, SBT)
