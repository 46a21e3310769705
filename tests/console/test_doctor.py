import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from console_runs import keep, te
from sessions import Telling, shell
from transcripts import transcript_in

from tokeneconomizer.console import daemon_process
from tokeneconomizer.console.checks import Check, Finding, Level, Patient, examine, ok
from tokeneconomizer.console.commands.doctor import CHECKS
from tokeneconomizer.console.daemon_process import DaemonState
from tokeneconomizer.console.hearing_checks import CALLS_NEEDED, LOG_AHEAD_MAX
from tokeneconomizer.console.home_checks import SPOOL_WAITING_USUAL
from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.console.installations.own_files import write_own_files
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.hosts.claude_code import plugin
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.lock import held

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def patient(home: Home) -> Patient:
    return Patient(home, Path.home(), {}, NOW)


def found(patient: Patient, name: str) -> list[Finding]:
    """Return what the check of that name finds."""
    (check,) = [check for check in CHECKS if check.name == name]
    return [result.finding for result in examine(patient, [check])]


def level_of(patient: Patient, name: str) -> Level:
    levels = {finding.level for finding in found(patient, name)}
    return max(levels, key=list(Level).index)


def settings(patient: Patient, text: str) -> None:
    folder = patient.user_home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(text)


def test_each_resource_of_a_home_has_a_check() -> None:
    resources = {name for name, value in vars(Home).items() if isinstance(value, property)}
    assert {name for check in CHECKS for name in check.resources} == resources


def test_each_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_a_check_that_breaks_does_not_hide_the_others(patient: Patient) -> None:
    def breaks(_patient: Patient) -> Iterator[Finding]:
        yield ok("a beginning")
        message = "no more"
        raise RuntimeError(message)

    def works(_patient: Patient) -> Iterator[Finding]:
        yield ok("fine")

    results = list(examine(patient, [Check("a", (), breaks), Check("b", (), works)]))
    assert [(r.check, r.finding.level) for r in results] == [
        ("a", Level.OK),
        ("a", Level.PROBLEM),
        ("b", Level.OK),
    ]
    assert "RuntimeError: no more" in results[1].finding.words


def test_each_finding_that_is_not_well_says_what_to_do(patient: Patient) -> None:
    settings(patient, "{}")
    for result in examine(patient, CHECKS):
        assert result.finding.words
        assert bool(result.finding.advice) == (result.finding.level is not Level.OK)


def test_a_fresh_home_has_warnings_and_no_problem(home: Home) -> None:
    done = te("doctor")
    assert done.status == 0
    assert f"{home.root} does not exist yet" in done.out
    assert not home.root.exists()


@pytest.mark.usefixtures("home")
def test_a_problem_is_exit_status_1_and_json_has_all_findings() -> None:
    (Path.home() / ".claude").mkdir()
    done = te("doctor", "--json")
    assert done.status == 1
    findings = json.loads(done.out)
    assert {tuple(finding) for finding in findings} == {("check", "level", "words", "advice")}
    assert [finding["check"] for finding in findings if finding["level"] == "problem"] == ["agents"]


@pytest.mark.parametrize(
    ("path", "mode", "level"),
    [
        ("", 0o700, Level.OK),
        ("", 0o755, Level.PROBLEM),
        ("views", 0o750, Level.PROBLEM),
        ("key", 0o644, Level.PROBLEM),
        ("key", 0o600, Level.OK),
        ("plugins/hook.sh", 0o700, Level.OK),
    ],
)
def test_a_home_is_for_its_user_alone(path: str, mode: int, level: Level, patient: Patient) -> None:
    patient.home.create()
    patient.home.key()
    (patient.home.plugins / "hook.sh").touch(0o600)
    (patient.home.root / path).chmod(mode)
    assert level_of(patient, "home") is level


def test_a_missing_folder_is_named(patient: Patient) -> None:
    patient.home.create()
    patient.home.spool.rmdir()
    (finding,) = found(patient, "home")
    assert finding == Finding(Level.WARNING, f"missing: {patient.home.spool}", "`te daemon start` makes them")


def sound(_home: Home) -> None:
    """Leave the store as it is."""


def without_key(home: Home) -> None:
    (home.root / "key").unlink()


def no_database(home: Home) -> None:
    home.events.write_bytes(b"no database" * 1000)


def newer(home: Home) -> None:
    connection = sqlite3.connect(home.events)
    connection.execute("PRAGMA user_version=999")
    connection.close()


@pytest.mark.parametrize(
    ("damage", "level"),
    [
        (sound, Level.OK),
        (without_key, Level.PROBLEM),
        (no_database, Level.PROBLEM),
        (newer, Level.PROBLEM),
    ],
)
def test_the_store_is_looked_at(damage: Callable[[Home], None], level: Level, patient: Patient) -> None:
    telling = Telling()
    telling.start()
    keep(patient.home, telling)
    damage(patient.home)
    assert level_of(patient, "store") is level


def test_an_event_that_a_view_cannot_take_is_told(patient: Patient) -> None:
    telling = Telling()
    telling.start()
    telling.prompt()
    keep(patient.home, telling)
    connection = sqlite3.connect(patient.home.events)
    connection.execute("UPDATE stored_events SET state = X'7B' WHERE rowid = 2")
    connection.commit()
    connection.close()
    # The history does not look into it; the counters, the envelope and the evidence do.
    of_counters, of_audit, of_accounting, of_envelope, of_microskills, of_evidence = found(patient, "views")
    assert {view.level for view in (of_counters, of_envelope, of_evidence)} == {Level.PROBLEM}
    assert "event 2 (session.prompt_submitted)" in of_counters.words
    assert {view.level for view in (of_audit, of_accounting, of_microskills)} == {Level.OK}


def test_a_lock_that_is_held_without_an_answer_is_a_problem(patient: Patient) -> None:
    patient.home.create()
    assert level_of(patient, "daemon") is Level.WARNING
    with held(patient.home.lock):
        assert level_of(patient, "daemon") is Level.PROBLEM


@pytest.mark.parametrize(
    ("waiting", "refused", "level"),
    [
        (0, 0, Level.OK),
        (1, 0, Level.WARNING),
        (SPOOL_WAITING_USUAL, 0, Level.WARNING),
        (SPOOL_WAITING_USUAL + 1, 0, Level.PROBLEM),
        (0, 1, Level.WARNING),
    ],
)
def test_the_spool_is_looked_at(waiting: int, refused: int, level: Level, patient: Patient) -> None:
    patient.home.create()
    patient.home.refused.mkdir()
    for number in range(waiting):
        (patient.home.spool / f"{number}-1-a").touch()
    for number in range(refused):
        (patient.home.refused / f"{number}-1-a").touch()
    assert level_of(patient, "spool") is level


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (
            "2026-01-05T11:00:00Z host=claude_code event=Stop payload=complete ConnectionRefusedError",
            Level.WARNING,
        ),
        (
            "2026-01-04T11:00:00Z host=claude_code event=Stop payload=complete ConnectionRefusedError",
            Level.OK,
        ),
        ("half a line", Level.OK),
        ("", Level.OK),
    ],
)
def test_hooks_without_daemon_are_told_for_a_day(line: str, level: Level, patient: Patient) -> None:
    patient.home.create()
    patient.home.log.with_name("hook.log").write_text(line + "\n")
    assert level_of(patient, "hook log") is level


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('{"event": "timer failed", "level": "error", "timestamp": "2026-01-05T11:00:00Z"}', Level.PROBLEM),
        ('{"event": "timer failed", "level": "error", "timestamp": "2026-01-04T11:00:00Z"}', Level.OK),
        ('{"event": "daemon listens", "level": "info", "timestamp": "2026-01-05T11:00:00Z"}', Level.OK),
        ('{"event": "cut off', Level.OK),
        ('{"level": "error", "timestamp": "soon"}', Level.OK),
        ('{"level": "error", "timestamp": "2026-01-05T11:00:00"}', Level.OK),
        ("[]", Level.OK),
    ],
)
def test_errors_of_the_daemon_are_told_for_a_day(line: str, level: Level, patient: Patient) -> None:
    patient.home.create()
    patient.home.log.write_text(line + "\n")
    assert level_of(patient, "daemon log") is level


def test_a_refused_configuration_is_a_problem(patient: Patient) -> None:
    patient.home.create()
    assert level_of(patient, "configuration") is Level.OK
    patient.home.config.write_text("loopguard: maybe\n")
    assert level_of(patient, "configuration") is Level.PROBLEM


def install_plugin(patient: Patient, interpreter: str = sys.executable) -> None:
    files = plugin.plugin_files([interpreter, *hook_words()[1:]], te_words())
    write_own_files(patient.home.plugins / "claude_code", files, Report(), dry_run=False)


@pytest.mark.parametrize(
    ("text", "level", "words"),
    [
        ('{"enabledPlugins": {"tokeneconomizer@tokeneconomizer": true}}', Level.OK, "loads our plugin"),
        ('{"enabledPlugins": {"tokeneconomizer@tokeneconomizer": false}}', Level.PROBLEM, "switched off"),
        (
            '{"enabledPlugins": {"tokeneconomizer@tokeneconomizer": true}, "disableAllHooks": true}',
            Level.PROBLEM,
            "disableAllHooks",
        ),
        ('{"enabledPlugins": []}', Level.PROBLEM, "not registered"),
        ("{}", Level.PROBLEM, "not registered"),
        ("[]", Level.PROBLEM, "cannot be read"),
        ("{ // a comment\n}", Level.PROBLEM, "cannot be read"),
    ],
)
def test_the_registration_with_claude_code_is_looked_at(
    text: str, level: Level, words: str, patient: Patient
) -> None:
    install_plugin(patient)
    settings(patient, text)
    (finding,) = found(patient, "agents")
    assert finding.level is level
    assert words in finding.words


def test_a_plugin_that_calls_an_interpreter_which_is_not_this_one_is_a_problem(patient: Patient) -> None:
    install_plugin(patient, interpreter="/gone/bin/python")
    settings(patient, '{"enabledPlugins": {"tokeneconomizer@tokeneconomizer": true}}')
    (finding,) = found(patient, "agents")
    assert (finding.level, "another installation" in finding.words) == (Level.PROBLEM, True)


def test_a_registered_plugin_whose_folder_is_gone_is_a_problem(patient: Patient) -> None:
    settings(patient, '{"enabledPlugins": {"tokeneconomizer@tokeneconomizer": true}}')
    (finding,) = found(patient, "agents")
    assert (finding.level, "is missing" in finding.words) == (Level.PROBLEM, True)


def test_the_agents_own_variable_says_where_its_settings_are(patient: Patient, tmp_path: Path) -> None:
    settings(patient, "{}")
    (tmp_path / "settings.json").write_text("[]")
    moved = replace(patient, environment={"CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert "cannot be read" in found(moved, "agents")[0].words


def test_an_agent_that_is_not_installed_is_not_spoken_of(patient: Patient) -> None:
    assert found(patient, "agents") == []


def test_an_agent_on_the_path_is_installed(patient: Patient, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.touch()
    program.chmod(0o755)
    assert level_of(replace(patient, environment={"PATH": os.fspath(tmp_path)}), "agents") is Level.PROBLEM


@pytest.mark.parametrize(("text", "level"), [("{}", Level.OK), ("{", Level.PROBLEM)])
def test_the_record_of_the_installation_is_looked_at(text: str, level: Level, patient: Patient) -> None:
    assert found(patient, "setup") == []
    patient.home.create()
    patient.home.installed.write_text(text)
    assert level_of(patient, "setup") is level


@pytest.mark.parametrize(
    ("calls", "whole_step", "level"),
    [
        (CALLS_NEEDED, True, Level.OK),
        (CALLS_NEEDED, False, Level.PROBLEM),
        (CALLS_NEEDED - 1, False, Level.OK),
    ],
)
def test_calls_without_the_end_of_their_steps_blind_the_loop_guard(
    calls: int,
    whole_step: bool,
    level: Level,
    patient: Patient,
) -> None:
    telling = Telling()
    telling.start()
    telling.prompt()
    for number in range(calls):
        telling.step(shell(f"make part-{number}"), whole_step=whole_step)
    keep(patient.home, telling)
    assert level_of(patient, "hearing") is level


def test_a_store_that_heard_no_hook_says_so(patient: Patient) -> None:
    te("config", "set", "loopguard", "off")
    (finding,) = found(patient, "hearing")
    assert finding.words == "no hook was heard yet"


def deaf(patient: Patient) -> list[str]:
    return [finding.words for finding in found(patient, "hearing") if "newest log" in finding.words]


def log_written(patient: Patient, later: timedelta) -> None:
    """Have Claude Code's log end so much later than now."""
    transcript = transcript_in(patient.user_home)
    transcript.turn("make test")
    at = (datetime.now(UTC) + later).timestamp()
    os.utime(transcript.path, (at, at))


def test_an_agent_whose_log_grows_and_whose_hooks_are_silent_is_told(patient: Patient) -> None:
    log_written(patient, 2 * LOG_AHEAD_MAX)
    te("config", "set", "loopguard", "off")
    assert deaf(patient) == []

    assert te("setup", "claude_code").status == 0
    (words,) = deaf(patient)
    assert words.startswith("Claude Code: its newest log was written")
    assert words.endswith("its hooks were never heard")

    # Long before it was set up.
    telling = Telling()
    telling.start()
    keep(patient.home, telling)
    assert "its hooks were last heard" in deaf(patient)[0]

    assert te("setup", "--uninstall").status == 0
    assert deaf(patient) == []


def test_a_log_that_ends_soon_after_what_was_heard_is_no_sign(patient: Patient) -> None:
    assert te("setup", "claude_code").status == 0
    log_written(patient, LOG_AHEAD_MAX / 2)
    assert deaf(patient) == []


def test_a_database_that_is_written_to_is_no_sign(patient: Patient) -> None:
    (patient.user_home / ".config" / "opencode").mkdir(parents=True)
    assert te("setup", "opencode").status == 0
    data = patient.user_home / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    at = (datetime.now(UTC) + 2 * LOG_AHEAD_MAX).timestamp()
    (data / "opencode.db").touch()
    os.utime(data / "opencode.db", (at, at))
    assert deaf(patient) == []


def test_logs_that_were_not_imported_are_named(patient: Patient) -> None:
    assert "no agent" in found(patient, "agents' logs")[0].words

    transcript_in(patient.user_home).turn("make test")
    assert "`te import` would read 1" in found(patient, "agents' logs")[0].words

    assert te("import").status == 0
    assert "claude_code 1; all imported" in found(patient, "agents' logs")[0].words


def test_a_running_import_is_told(patient: Patient) -> None:
    patient.home.create()
    transcript_in(patient.user_home).turn("make test")

    with held(patient.home.import_lock):
        assert "being read now" in found(patient, "agents' logs")[0].words


def test_a_judge_that_is_off_has_nothing_to_look_at(patient: Patient) -> None:
    assert found(patient, "judge") == []


@pytest.mark.parametrize("place", [(), ("--host", "claude_code")])
def test_a_judge_that_cannot_be_asked_or_was_not_heard_is_told(
    patient: Patient, place: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    te("config", "set", "judge", "auto", *place)
    (missing, on) = found(patient, "judge")
    assert "`claude`" in missing.words
    assert on.level is Level.OK

    told = DaemonState(running=True, answers=True, judge_problem="it did not answer within 60 s")
    monkeypatch.setattr(daemon_process, "state_of", lambda _: told)
    assert "did not answer" in found(patient, "judge")[-1].words
    assert "did not answer" in te("status").out


def test_a_proposer_that_cannot_be_asked_or_was_not_heard_is_told(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(patient, "proposer") == []
    te("config", "set", "microskills", "full")
    (missing, on) = found(patient, "proposer")
    assert "of `claude`, `codex`" in missing.words
    assert "te config set microskills envfacts" in missing.advice
    assert on.level is Level.OK

    told = DaemonState(running=True, answers=True, proposer_problem="it did not answer within 60 s")
    monkeypatch.setattr(daemon_process, "state_of", lambda _: told)
    assert "did not answer" in found(patient, "proposer")[-1].words
    assert "did not answer" in te("status").out


def test_blocks_that_a_start_would_not_find_are_a_problem(patient: Patient) -> None:
    home = patient.home
    assert level_of(patient, "facts") is Level.OK
    (home.repositories / "project").mkdir(parents=True)
    home.starts.write_text('{"checkouts": {"/work/project": {"claude_code": "project/facts.md"}}}')
    assert level_of(patient, "facts") is Level.PROBLEM
    (home.repositories / "project" / "facts.md").write_text("facts")
    assert level_of(patient, "facts") is Level.OK
    home.starts.write_text("[1]")
    assert level_of(patient, "facts") is Level.PROBLEM
