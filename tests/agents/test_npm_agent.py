from pathlib import Path

import pytest
from npm_agent import AgentUnavailableError, NpmProgram, install

TOOL = NpmProgram("tool", "a-tool", "1.2.3", "node_modules/.bin/tool", beside=("@types/tool@4",))

WORKING_NPM = """#!/bin/sh
mkdir -p node_modules/.bin
echo "$@" > node_modules/.bin/tool
"""
FAILING_NPM = """#!/bin/sh
echo "npm warn of something" >&2
echo "npm error code E404" >&2
exit 1
"""
IDLE_NPM = "#!/bin/sh\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKENECONOMIZER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "agents"


def put_npm(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "npm").write_text(script, encoding="utf-8")
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_program_is_installed_once_with_its_pinned_packages(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(tmp_path / "bin", WORKING_NPM, monkeypatch)
    installed = install(TOOL)
    put_npm(tmp_path / "later", FAILING_NPM, monkeypatch)
    assert install(TOOL) == installed == cache / "tool-1.2.3" / "node_modules/.bin/tool"
    assert installed.read_text(encoding="utf-8").endswith("a-tool@1.2.3 @types/tool@4\n")
    assert [path.name for path in cache.iterdir()] == ["tool-1.2.3"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(FAILING_NPM, "npm error code E404", id="npm fails"),
        pytest.param(IDLE_NPM, "npm could not install a-tool@1.2.3", id="npm leaves nothing"),
    ],
)
def test_what_cannot_be_installed_is_said_in_words_and_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    put_npm(tmp_path / "bin", script, monkeypatch)
    with pytest.raises(AgentUnavailableError, match=words):
        install(TOOL)
    assert list(cache.iterdir()) == []


def test_without_npm_it_is_said_what_to_install(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentUnavailableError, match=r"install Node\.js with npm"):
        install(TOOL)
    assert not cache.exists()
