"""
Programs that print, search, or say nothing.

A test summary in the output of these alone is old or quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.names import operand_position, word_set

if TYPE_CHECKING:
    from collections.abc import Sequence

_PRINTING = word_set(
    """
    [ : alias ag ack awk b2sum base64 basename bat batcat builtin cal cat clear cmp column comm command
    curl cut date declare df diff difft dig dirname du echo egrep env exit export expr false fd fdfind fgrep
    file find fmt fold free gawk getent gh glab grep groups gunzip gzcat hash head hexdump history host
    hostname id jobs journalctl join jq less let local locale look ls lsof mawk md5sum more nl nproc
    nslookup od paste pgrep ping pr printenv printf ps pstree pwd read readlink readonly realpath return rev
    rg sdiff sed seq set sha1sum sha256sum shift shopt shuf sleep sort stat strings sum tac tail tee test
    tldr top tput tr tree true tsort tty type typeset uname uniq unset unzip uptime vdir w wait wc wget
    whereis which who whoami xmllint xxd yes yq zcat zgrep Format-List Format-Table Get-ChildItem
    Get-Command Get-Content Get-Date Get-Item Get-Location Get-Process Measure-Object Out-Default Out-Host
    Out-Null Out-String Select-Object Select-String Sort-Object Test-Path Where-Object Write-Host
    Write-Output dir findstr gc gci select sls where
    """,
)
_SILENT = word_set(
    """
    cd chgrp chmod chown cp dd dirs fg ln kill killall mkdir mkfifo mktemp mv pkill popd pushd rm rmdir sync
    tar touch trap truncate ulimit umask unalias zip Add-Content Copy-Item Import-Module Join-Path Move-Item
    New-Item Out-File Pop-Location Push-Location Remove-Item Set-Content Set-Location
    """,
)
# Subcommands of larger programs that print what is stored.
_PRINTING_SUBCOMMANDS = {
    "git": word_set(
        """
        add apply archive blame branch cat-file check-ignore checkout clean clone config count-objects
        describe diff diff-tree fetch for-each-ref format-patch fsck grep init log ls-files ls-remote
        ls-tree merge-base mv name-rev reflog remote reset restore rev-list rev-parse rm shortlog show
        show-ref stash status submodule switch symbolic-ref tag worktree
        """,
    ),
    "docker": word_set("logs ps images inspect image version info"),
    "kubectl": word_set("logs get describe"),
    "npm": word_set("view ls list info config outdated root prefix whoami"),
    "pip": word_set("list show freeze"),
}
# Files that only set variables.
_SOURCED_SILENTLY = ("activate", ".env", "rc", ".profile", "nvm.sh", ".bash_profile")
_VALUED = {"git": frozenset({"-C", "-c", "--git-dir", "--work-tree"})}
_NONE: frozenset[str] = frozenset()


def only_quotes(program: str, arguments: Sequence[str]) -> bool:
    """Whether an invocation prints or searches texts, or says nothing."""
    if program in _PRINTING or program in _SILENT:
        return True
    if program in {".", "source"}:
        return bool(arguments) and arguments[0].endswith(_SOURCED_SILENTLY)
    subcommands = _PRINTING_SUBCOMMANDS.get(program)
    if subcommands is None:
        return False
    position = operand_position(arguments, _VALUED.get(program, _NONE))
    return position < len(arguments) and arguments[position] in subcommands


# Of a pipeline: these end well whatever they are given, so that with pipefail the code is that of the others.
ALWAYS_ENDING_WELL = word_set("tail head tee cat sed wc sort tr cut uniq column nl fold less more tac rev ts")
