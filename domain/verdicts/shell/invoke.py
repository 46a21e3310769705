"""From the words of one command to an invocation, or to the script that it hands to another shell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.context import Shell
from tokeneconomizer.domain.verdicts.shell.program import executed_by_find, program_of
from tokeneconomizer.domain.verdicts.shell.reading import Invocation, Record
from tokeneconomizer.domain.verdicts.shell.unwrap import unwrap
from tokeneconomizer.domain.verdicts.shell.written_paths import written_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.domain.verdicts.shell.context import Context
    from tokeneconomizer.domain.verdicts.shell.unwrap import Language, Script

# `ssh host "docker exec x sh -c '…'"` is two; each level is read once more.
SHELLS_MAX = 3

_BY_FIND = "find -exec"


@dataclass(slots=True)
class Invoker:
    """Takes the commands that the readers of the languages find."""

    record: Record
    read_script: Callable[[Invoker, str, Language, Context, Shell], None]

    def invoke(self, words: Sequence[str], context: Context, shell: Shell, read: Sequence[str] = ()) -> None:
        """Note that a command runs; `read` are the files on its standard input."""
        if self.record.full:
            return
        unwrapped = unwrap(words)
        if unwrapped.loses_status:
            context = context.without_status()
        inner = context._replace(wrappers=(*context.wrappers, *unwrapped.labels))
        if not unwrapped.script:
            self._note(unwrapped.words, inner, shell, read)
            return
        text = unwrapped.script.text
        if text is None:
            text = context.input_text
        if not text or context.shells >= SHELLS_MAX:
            self._note(
                unwrapped.words or list(words), inner._replace(wrappers=inner.wrappers[:-1]), shell, read
            )
        else:
            self._run(text, unwrapped.script, inner, shell)

    def _run(self, text: str, script: Script, context: Context, shell: Shell) -> None:
        # What the shell itself reads as code is no input of its programs.
        fed = "" if script.text is None else context.input_text
        inner = context._replace(shells=context.shells + 1, input_text=fed)
        if script.new_shell:
            inner = inner._replace(tested=False)
            shell = Shell(
                folder=shell.folder,
                errexit=script.errexit,
                pipefail=script.pipefail,
                variables=dict(shell.variables),
            )
        self.read_script(self, text, script.language, inner, shell)

    def _note(self, words: Sequence[str], context: Context, shell: Shell, read: Sequence[str]) -> None:
        program, module, arguments = program_of(words)
        position = len(self.record.invocations)
        self.record.invocations.append(
            Invocation(
                program=program,
                module=module,
                arguments=tuple(arguments),
                wrappers=context.wrappers,
                position=position,
                piped_into=context.output.piped,
                output_hidden=context.output.hidden,
                status_decides=context.decides,
                guarded=context.guarded,
                needed_for_success=context.needed,
                output_file=context.output.target,
                errors_hidden=context.errors.hidden,
                input_text=context.input_text,
            ),
        )
        if read:
            self.record.inputs[position] = list(read)
        shell.run_builtin(program, arguments)
        written = written_paths(module or program, arguments, context.input_text)
        if written:
            self.record.add_edits(written, shell.folder)
        # A find that a find runs is not followed: words nest without end.
        if program == "find" and _BY_FIND not in context.wrappers:
            found = context.unsure()._replace(wrappers=(*context.wrappers, _BY_FIND))
            for command in executed_by_find(arguments):
                self.invoke(command, found, shell)
