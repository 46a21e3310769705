"""
Programs that start another program: `timeout 60 pytest`, `uv run pytest`, `bash -c 'pytest'`.

The table says how each one's own words end; `unwrap` strips one after the other.
"""

import re
from dataclasses import dataclass

from tokeneconomizer.domain.verdicts.shell.names import word_set


@dataclass(frozen=True, slots=True)
class Wrapper:
    """
    How the words of a wrapping program end where the wrapped command begins.

    Attributes:
        label: its name in `Invocation.wrappers`.
        subcommands: the words that make it a wrapper (`run` of `uv run`), each after options.
        valued: its options whose value is the next word.
        skipped: how many words it takes for itself before the command: a duration, a container.
        assignments: `NAME=value` words may come before the command.
        text_options: options whose value is shell text.
        joins: the command's words are joined to shell text.
        packages: the first word names a package, perhaps with a version.
        python: `-m module` and a script are run by python.
        python_always: whatever comes is run by python.
        never: words instead of a command that make it no wrapper; as in `command -v`.
        command_after: the command begins after the first of these words.
        loses_status: its exit code is not the command's, unless one of these options is given; None: it is.

    """

    label: str
    subcommands: tuple[str, ...] = ()
    valued: frozenset[str] = frozenset()
    skipped: int = 0
    assignments: bool = False
    text_options: frozenset[str] = frozenset()
    joins: bool = False
    packages: bool = False
    python: bool = False
    python_always: bool = False
    never: frozenset[str] = frozenset()
    command_after: frozenset[str] = frozenset()
    loses_status: frozenset[str] | None = None


_PACKAGE_RUN = word_set("-p --package --from --with --python --spec --index-url --shell --with-requirements")
_CONTAINER = word_set(
    "-e --env -w --workdir -u --user -v --volume --name --network --net -p --publish --entrypoint --platform"
    " --mount --env-file -f --file --profile --index -H --host --context --config --memory -m --cpus --gpus"
    " --shm-size -h --hostname --label -l --ulimit --add-host --detach-keys --ipc --tmpfs --cap-add"
    " --security-opt --pull",
)
_PYTHON_RUN = word_set(
    "--with --python -p --package --project --directory --extra --group --env-file --index --index-url"
    " --with-requirements --with-editable --only-group --no-group --cache-dir --color -C -P -e"
)
_POD = word_set("-n --namespace -c --container --context --kubeconfig")
_DASHES = frozenset({"--"})
_NO_COMMAND = word_set("-v -V --version --help")
# A script name or an own command of yarn, pnpm and bun, not a program that they would look up.
OWN_COMMAND = re.compile(
    r".*:.*|(?:pre|post)?(?:test|tests|build|lint|check|ci|dev|start|format|fix|typecheck|type-check|validate"
    r"|verify|coverage|e2e|unit|integration)(?:-.*)?|run|run-script|install|i|add|remove|rm|up|upgrade|update"
    r"|link|why|list|ls|audit|config|info|init|publish|pack|prune|store|set|version|workspaces?|dedupe|outdated"
    r"|import|rebuild|create|global|cache|patch|deploy|fetch|licenses|self-update|setup|env|bin|root|t|tst|x|pm"
    r"|unlink|constraints|npm|plugin|stage|unplug|help|recursive|m|multi|approve-builds|view|search|login|logout"
    r"|whoami|node|repl",
)

# The command comes in an option or not at all.
_ALL = 1_000_000

WRAPPERS: dict[str, tuple[Wrapper, ...]] = {}


def _declare(names: str, *wrappers: Wrapper) -> None:
    for name in names.split():
        WRAPPERS[name] = (*WRAPPERS.get(name, ()), *(wrappers or (Wrapper(name),)))


_declare(
    "nohup setsid builtin doas chronic unbuffer ltrace dbus-run-session busybox corepack rlwrap catchsegv"
)
_declare("timeout gtimeout", Wrapper("timeout", valued=word_set("-s --signal -k --kill-after"), skipped=1))
_declare("env", Wrapper("env", valued=word_set("-u --unset -C --chdir"), assignments=True))
_declare(
    "sudo",
    Wrapper(
        "sudo", valued=word_set("-u -g -h -p -C -r -t -U -D -T --user --group --chdir"), assignments=True
    ),
)
_declare("nice", Wrapper("nice", valued=word_set("-n --adjustment")))
_declare("ionice", Wrapper("ionice", valued=word_set("-c -n")))
_declare("stdbuf", Wrapper("stdbuf", valued=word_set("-i -o -e --input --output --error")))
_declare(
    "xargs gxargs",
    Wrapper(
        "xargs",
        valued=word_set("-I -n -P -L -d -a -s -E --max-args --max-procs --max-lines --delimiter --arg-file"),
    ),
)
_declare("parallel", Wrapper("parallel", valued=word_set("-j --jobs -a --colsep")))
_declare("time", Wrapper("time", valued=word_set("-f -o --format --output")))
_declare("command", Wrapper("command", never=_NO_COMMAND))
_declare("exec", Wrapper("exec", valued=word_set("-a")))
_declare("caffeinate", Wrapper("caffeinate", valued=word_set("-t -w")))
_declare("arch", Wrapper("arch"))
_declare("xcrun", Wrapper("xcrun", valued=word_set("--sdk --toolchain")))
_declare("strace", Wrapper("strace", valued=word_set("-o -e -p -s -E -P")))
_declare("valgrind", Wrapper("valgrind"))
_declare("taskset chrt faketime", Wrapper("taskset", skipped=1))
_declare("gosu su-exec chroot", Wrapper("gosu", skipped=1))
_declare(
    "flock",
    Wrapper("flock", valued=word_set("-w -E --timeout"), skipped=1, text_options=word_set("-c --command")),
)
_declare(
    "xvfb-run",
    Wrapper(
        "xvfb-run",
        valued=word_set("-n -s -e -f -p -w --server-num --server-args --error-file --auth-file --wait"),
    ),
)
_declare(
    "script",
    Wrapper(
        "script",
        valued=word_set("-O -I -B -T -m -E -o"),
        skipped=1,
        text_options=word_set("-c --command"),
        loses_status=word_set("-e --return"),
    ),
)
_declare("watch", Wrapper("watch", valued=word_set("-n --interval"), loses_status=frozenset()))
_declare(
    "su", Wrapper("su", valued=word_set("-s -g -G"), skipped=_ALL, text_options=word_set("-c --command"))
)
_declare("runuser", Wrapper("runuser", valued=word_set("-u -g"), text_options=word_set("-c --command")))
_declare("eval", Wrapper("eval", joins=True))
_declare(
    "ssh",
    Wrapper(
        "ssh", valued=word_set("-p -i -o -l -F -J -L -R -D -E -b -c -e -m -Q -S -W -w"), skipped=1, joins=True
    ),
)
_declare("wsl", Wrapper("wsl", valued=word_set("-d --distribution -u --user --cd")))
_declare("vagrant", Wrapper("vagrant ssh", ("ssh",), skipped=_ALL, text_options=word_set("-c --command")))
_declare("nix-shell", Wrapper("nix-shell", skipped=_ALL, text_options=word_set("--run --command")))
_declare(
    "coverage coverage3",
    Wrapper(
        "coverage run",
        ("run",),
        valued=word_set("--source --rcfile --omit --include --data-file --concurrency --context --debug"),
        python=True,
        python_always=True,
    ),
)
_declare(
    "cProfile pdb trace",
    Wrapper("python -m profile", valued=word_set("-o -s"), python=True, python_always=True),
)
_declare(
    "nyc c8",
    Wrapper(
        "nyc",
        valued=word_set("-r --reporter --include --exclude -x -n --require -i --report-dir --temp-dir --cwd"),
        never=word_set("report check-coverage instrument merge"),
    ),
)
_declare(
    "uv",
    Wrapper("uv run", ("run",), valued=_PYTHON_RUN, python=True),
    Wrapper("uvx", ("tool", "run"), valued=_PACKAGE_RUN, packages=True),
)
_declare("uvx", Wrapper("uvx", valued=_PACKAGE_RUN, packages=True))
_declare("pipx", Wrapper("pipx run", ("run",), valued=_PACKAGE_RUN, packages=True))
for _tool in ("poetry", "pipenv", "hatch", "rye", "pdm", "pixi"):
    _declare(_tool, Wrapper(f"{_tool} run", ("run",), valued=_PYTHON_RUN, python=_tool != "pixi"))
_declare(
    "conda mamba micromamba",
    Wrapper("conda run", ("run",), valued=word_set("-n --name -p --prefix --cwd"), python=False),
)
_declare("bundle", Wrapper("bundle exec", ("exec",)))
_declare("npx", Wrapper("npx", valued=_PACKAGE_RUN, text_options=word_set("-c --call"), packages=True))
_declare("bunx", Wrapper("bunx", valued=_PACKAGE_RUN, packages=True))
_declare(
    "npm",
    Wrapper("npm exec", ("exec",), valued=word_set("-w --workspace -p --package"), packages=True),
    Wrapper("npm exec", ("x",), valued=word_set("-w --workspace -p --package"), packages=True),
)
_NODE_MANAGER = word_set("--filter -F -C --dir --cwd --reporter --config")
for _tool in ("pnpm", "yarn", "bun"):
    for _word in ("exec", "dlx", "x"):
        _declare(_tool, Wrapper(f"{_tool} {_word}", (_word,), valued=_NODE_MANAGER, packages=True))
_declare("cross-env cross-env-shell", Wrapper("cross-env", assignments=True))
_declare("dotenv", Wrapper("dotenv", command_after=_DASHES))
for _tool, _word in (("dotenvx", "run"), ("op", "run"), ("doppler", "run"), ("mise", "exec"), ("mise", "x")):
    _declare(_tool, Wrapper(f"{_tool} {_word}", (_word,), command_after=_DASHES))
_declare("lerna", Wrapper("lerna exec", ("exec",)))
_declare("direnv", Wrapper("direnv exec", ("exec",), skipped=1))
_declare(
    "nix",
    Wrapper("nix develop", ("develop",), command_after=word_set("-c --command")),
)
for _tool in ("docker", "podman", "nerdctl"):
    _declare(
        _tool,
        Wrapper("docker compose exec", ("compose", "exec"), valued=_CONTAINER, skipped=1),
        Wrapper("docker compose run", ("compose", "run"), valued=_CONTAINER, skipped=1),
        Wrapper("docker exec", ("exec",), valued=_CONTAINER, skipped=1),
        Wrapper("docker run", ("run",), valued=_CONTAINER, skipped=1),
    )
_declare(
    "docker-compose podman-compose",
    Wrapper("docker compose exec", ("exec",), valued=_CONTAINER, skipped=1),
    Wrapper("docker compose run", ("run",), valued=_CONTAINER, skipped=1),
)
_declare("kubectl oc", Wrapper("kubectl exec", ("exec",), valued=_POD, command_after=_DASHES))
_declare("go", Wrapper("go run", ("run",), valued=word_set("-C -tags -mod"), packages=True))
_declare("go", Wrapper("go tool", ("tool",), packages=True))
