"""What agents load of ours: type-checked as rendered, and its own tests (`tests/hosts/bridge`) under Node."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from typescript import TypescriptCompiler

from tokeneconomizer.hosts.bridge.rendering import PLACEHOLDER, Installation, render

pytestmark = pytest.mark.agents

ROOT = Path(__file__).resolve().parents[2]
PARTS = sorted(
    str(path.relative_to(ROOT / "hosts"))
    for path in (ROOT / "hosts").glob("*/*.ts")
    if PLACEHOLDER in path.read_text(encoding="utf-8")
)
TESTS = sorted(path for path in (ROOT / "tests" / "hosts").rglob("*.test.ts"))
RUN_SECONDS_MAX = 120
OPTIONS = {
    "strict": True,
    "noEmit": True,
    "target": "es2023",
    "lib": ["es2023"],
    "module": "preserve",
    "types": ["node"],
    "erasableSyntaxOnly": True,  # Node and Pi strip types and know nothing that makes code of them
    "noUncheckedIndexedAccess": True,
    "noImplicitReturns": True,
    "allowImportingTsExtensions": True,
}


def rendered(part: str, folder: Path) -> Path:
    path = folder / f"{part.partition('/')[0]}.ts"
    daemon = ["/usr/bin/python3", "-I", "-m", "tokeneconomizer.scheduler.daemon"]
    path.write_bytes(render(part, Installation("pi", "extension", "/home/dev/.tokeneconomizer", daemon)))
    return path


def type_check(compiler: TypescriptCompiler, folder: Path, files: list[Path]) -> str:
    """Return what the compiler has to say."""
    options = {**OPTIONS, "typeRoots": [str(compiler.types)]}
    configuration = {"compilerOptions": options, "files": [str(file) for file in files]}
    (folder / "tsconfig.json").write_text(json.dumps(configuration), encoding="utf-8")
    done = subprocess.run(
        [*compiler.command, "--project", str(folder)],
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=False,
    )
    return done.stdout


def test_what_agents_load_and_its_tests_are_of_strict_types(
    typescript_compiler: TypescriptCompiler, tmp_path: Path
) -> None:
    assert PARTS
    files = [rendered(part, tmp_path) for part in PARTS]
    assert type_check(typescript_compiler, tmp_path, [*files, *TESTS]) == ""


def test_the_bridges_own_tests_pass(typescript_compiler: TypescriptCompiler, tmp_path: Path) -> None:
    node = typescript_compiler.command[0]
    done = subprocess.run(
        [node, "--test", *map(str, TESTS)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout
