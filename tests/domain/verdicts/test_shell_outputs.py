import pytest

from tokeneconomizer.domain.verdicts.shell import read_command


@pytest.mark.parametrize(
    ("command", "piped", "hidden", "file"),
    [
        ("pytest", False, False, ""),
        ("pytest 2>&1", False, False, ""),
        ("pytest >&2", False, False, ""),
        ("pytest > /dev/stderr", False, False, ""),
        ("pytest > log", False, True, "log"),
        ("pytest &> log", False, True, "log"),
        ("pytest >& log", False, True, "log"),
        ("pytest 1>> log 2>&1", False, True, "log"),
        ("pytest >| log", False, True, "log"),
        ("pytest > /dev/null 2>&1", False, True, ""),
        ("pytest 2> log", False, False, ""),
        ("pytest >&-", False, True, ""),
        ("> log pytest", False, True, "log"),
        ("a && pytest > log", False, True, "log"),
        ("( cd a; pytest ) > log", False, True, "log"),
        ("for i in 1; do pytest; done > log", False, True, "log"),
        ("bash -c 'pytest' > log", False, True, "log"),
        ("pytest | tail", True, False, ""),
        ("pytest |& tail", True, False, ""),
        ("pytest | tee log", True, False, ""),
        ("pytest | tee log > /dev/null", True, True, ""),
        ("pytest | grep x | tail > log", True, True, "log"),
        ("pytest > log | tail", False, True, "log"),
        ("pytest > >(tee log)", True, False, ""),
        ("{ pytest; } | tail", True, False, ""),
        ("x=$(pytest)", False, True, "$x"),
        ('x=$(pytest | tail); echo "$x"', True, False, "$x"),
        ("a $(pytest)", False, True, ""),
        ('echo "$(pytest)"', False, False, ""),
        ("a <(pytest)", True, True, ""),
        ("pytest > log; tail log", False, False, "log"),
        ("pytest > log; rc=$?; grep -n x < log | head", False, False, "log"),
        ("pytest > log; rm log", False, False, "log"),
        ("pytest > log; cat other", False, True, "log"),
        ("cat log; pytest > log", False, True, "log"),
        ("pytest > log; cat log > /dev/null", False, True, "log"),
    ],
)
def test_knows_where_an_output_goes(command: str, piped: bool, hidden: bool, file: str) -> None:
    runs = [run for run in read_command(command).invocations if run.program == "pytest"]
    assert [(run.piped_into, run.output_hidden, run.output_file) for run in runs] == [(piped, hidden, file)]


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("a 2>/dev/null", True),
        ("a &> log", True),
        ("a > log 2>&1", True),
        ("a 2>&1 > log", False),
        ("a 2>&1 | tail", False),
        ("a | tail", False),
        ("a > log", False),
        ("(a) 2> log", True),
    ],
)
def test_knows_whether_errors_are_seen(command: str, hidden: bool) -> None:
    assert read_command(command).invocations[0].errors_hidden is hidden


@pytest.mark.parametrize(
    ("command", "edits"),
    [
        ("pytest -q 2>&1 | tail", []),
        ("a > b 2> c; d >> e; f &> g", ["b", "c", "e", "g"]),
        ("a > /dev/null 2>&1; b >&2; c < d", []),
        ("cat > src/a.py <<'EOF'\nx\nEOF", ["src/a.py"]),
        ("a | tee -a b c", ["b", "c"]),
        ("cd src && echo x > a.py && cd ../lib && echo > b", ["src/a.py", "src/../lib/b"]),
        ("(cd src; echo > a); echo > b", ["src/a", "b"]),
        ("cd /x; echo > a; echo > ~/b; cd -; echo > ./c", ["/x/a", "~/b", "c"]),
        ('D=/x/d; echo > $D/a; echo > "$E/b"', ["/x/d/a", "$E/b"]),
        ("sed -i 's/a/b/' x y", ["x", "y"]),
        ("sed -i.bak -e 's/a/b/' x", ["x"]),
        ("sed -n '1,2p' x", []),
        ("perl -pi -e 's/a/b/' x y", ["x", "y"]),
        ("cp a b; cp a b c/; mv d e; install -m 644 f g", ["b", "c/a", "c/b", "d", "e", "g"]),
        ("cp -t out a", ["out"]),
        ("rm -rf a; touch b; truncate -s 0 c; dd if=a of=d", ["a", "b", "c", "d"]),
        ("patch -p1 < a.diff", ["?"]),
        ("patch -p1 <<'E'\n--- a/x.py\n+++ b/x.py\nE", ["x.py"]),
        ("git apply a.patch", ["?"]),
        ("git apply --check a.patch", []),
        ("git checkout -- a b; git restore c; git restore --staged d", ["a", "b", "c"]),
        ("git checkout main", ["?"]),
        ("git checkout -b new", []),
        ("git -C sub mv a b", ["sub/a", "sub/b"]),
        ("git stash", ["?"]),
        ("git stash list; git reset; git log", []),
        ("git reset --hard", ["?"]),
        (
            "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n*** Add File: b.py\nE",
            ["a.py", "b.py"],
        ),
        ("ruff check --fix a.py; ruff format; ruff check b.py", ["a.py", "?"]),
        ("black --check a; black a.py; npx prettier --write b.ts", ["a.py", "b.ts"]),
        ("gofmt -w a.go; gofmt -l .; cargo fmt", ["a.go", "?"]),
        ("python -m black a.py", ["a.py"]),
        ("curl -sS -o a http://x; wget -O b http://y", ["a", "b"]),
        ("tar xzf a.tgz; tar tf b", ["?"]),
        ("find . -name '*.py' -exec sed -i s/a/b/ {} +", ["{}"]),
        ("python - <<'E'\nopen('a.py', 'w').write('x')\nE", ["a.py"]),
        ("python3 -c \"from pathlib import Path; Path('a').write_text('x')\"", ["a"]),
        ("python - <<'E'\nwith open(p, 'w') as f: pass\nE", ["?"]),
        ("python - <<'E'\nprint(open('a').read())\nE", []),
        ("node -e \"fs.writeFileSync('a.js', x)\"", ["a.js"]),
        ("bash <<'E'\necho > a\nE", ["a"]),
        ("ls | xargs rm", []),
    ],
)
def test_finds_the_files_that_a_command_writes(command: str, edits: list[str]) -> None:
    assert list(read_command(command).edits) == edits
