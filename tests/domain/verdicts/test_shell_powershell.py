import pytest

from tokeneconomizer.domain.verdicts.shell import Invocation, read_powershell


def called(run: Invocation) -> str:
    return " ".join([run.program, *([f"-m {run.module}"] if run.module else []), *run.arguments])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd D:\\a\\b; go test ./...", ["cd D:\\a\\b", "go test ./..."]),
        ("py -3.11 -m pytest -q", ["python -m pytest -q"]),
        (".\\gradlew.bat test", ["gradlew test"]),
        ("& 'C:\\Program Files\\x\\pytest.exe' -q", ["pytest -q"]),
        ('& "$dir\\jest.cmd" --ci', ["jest --ci"]),
        ("cmd /c npm test", ["npm test"]),
        ('cmd /c "cd a && npm test"', ["cd a", "npm test"]),
        ("$env:CI='1'; $env:A = \"b\"; pytest", ["pytest"]),
        ("npx jest `\n  --ci", ["jest --ci"]),
        ('a "b `"c`" ""d" \'e\'\'f\'', ['a b "c" "d e\'f']),
        ("a; # b\n<# c\nd #> e", ["a", "e"]),
        ("if (Test-Path a) { pytest } else { jest }", ["Test-Path a", "pytest", "jest"]),
        ("try { pytest } catch { Write-Host $_ }", ["pytest", "Write-Host $_"]),
        (
            "Push-Location a; try { npm test } finally { Pop-Location }",
            ["Push-Location a", "npm test", "Pop-Location"],
        ),
        ('$x = pytest -q; $y = $x + 1; "$x"', ["pytest -q"]),
        ("[int]$a = 1; 1..3 | ForEach-Object { pytest }", ["pytest", "ForEach-Object"]),
        ("@'\npytest; x\n'@ | Set-Content a.txt", ["Set-Content a.txt"]),
        ("wsl -d Ubuntu bash -lc 'cd a && pytest'", ["cd a", "pytest"]),
        ('powershell -ExecutionPolicy Bypass -Command "pytest"', ["pytest"]),
        ("powershell -File t.ps1", ["powershell -File t.ps1"]),
        ("", []),
    ],
)
def test_finds_the_programs(command: str, expected: list[str]) -> None:
    reading = read_powershell(command)
    assert reading.parsed
    assert [called(run) for run in reading.invocations] == expected


@pytest.mark.parametrize("command", ["pytest (", "pytest { a", "pytest )", "( a }"])
def test_brackets_that_do_not_match_decide_nothing(command: str) -> None:
    reading = read_powershell(command)
    assert not reading.parsed
    assert not any(run.status_decides for run in reading.invocations)


@pytest.mark.parametrize(
    ("command", "decides", "guarded"),
    [
        ("pytest", True, False),
        ("cd a; pytest", True, False),
        ("cd a && pytest", True, True),
        ("pytest; exit $LASTEXITCODE", True, False),
        ("pytest | Select-Object -Last 5; exit $LASTEXITCODE", True, False),
        ("pytest; Write-Host done; exit $LASTEXITCODE", True, False),
        ("pytest | Select-Object -Last 5", False, False),
        ("pytest; echo $LASTEXITCODE", False, False),
        ("pytest || echo x", False, False),
        ("a || pytest", False, True),
        ("if ($a) { pytest }", False, True),
        ("pytest &", False, False),
    ],
)
def test_knows_whose_exit_code_it_is(command: str, decides: bool, guarded: bool) -> None:
    run = next(run for run in read_powershell(command).invocations if run.program == "pytest")
    assert (run.status_decides, run.guarded) == (decides, guarded)


@pytest.mark.parametrize(
    ("command", "piped", "hidden", "file"),
    [
        ("pytest 2>&1 | Select-Object -Last 5", True, False, ""),
        ("pytest *> log.txt", False, True, "log.txt"),
        ("pytest > log.txt 2>&1; Get-Content log.txt", False, False, "log.txt"),
        ("pytest > $null", False, True, ""),
        ("pytest | Out-Null", True, True, ""),
        ("$out = pytest; Write-Output $out", False, False, "$out"),
        ("$out = pytest", False, True, "$out"),
        ("pytest | Tee-Object log.txt", True, False, ""),
    ],
)
def test_knows_where_an_output_goes(command: str, piped: bool, hidden: bool, file: str) -> None:
    run = read_powershell(command).invocations[0]
    assert (run.piped_into, run.output_hidden, run.output_file) == (piped, hidden, file)


@pytest.mark.parametrize(
    ("command", "edits"),
    [
        ("a > b.txt; c 2> $null", ["b.txt"]),
        ("Set-Content -Path a.txt -Value x; Add-Content b.txt y", ["a.txt", "b.txt"]),
        ("a | Out-File -FilePath c.txt", ["c.txt"]),
        ("a | Tee-Object -FilePath c.txt", ["c.txt"]),
        ("Copy-Item a b; Move-Item c d; Remove-Item e -Recurse", ["b", "c", "d", "e"]),
        ("New-Item -ItemType Directory d; New-Item f", ["f"]),
        ("Set-Content (Join-Path $a b) x", ["?"]),
    ],
)
def test_finds_the_files_that_a_command_writes(command: str, edits: list[str]) -> None:
    assert list(read_powershell(command).edits) == edits


def test_knows_when_all_is_print_and_search() -> None:
    assert read_powershell("Get-Content log.txt | Select-String failed").quotes_only
    assert not read_powershell("go test | Select-String failed").quotes_only
