"""The TypeScript compiler, pinned, with the types of Node: it checks the bridges' sources."""

from dataclasses import dataclass
from pathlib import Path

from npm_agent import NpmProgram, install, install_node

TYPESCRIPT_VERSION = "5.9.3"
NODE_TYPES = "@types/node@24.19.4"


@dataclass(frozen=True)
class TypescriptCompiler:
    """The command that compiles, and the folder of the types that it may read."""

    command: tuple[str, ...]
    types: Path


def install_typescript(version: str = TYPESCRIPT_VERSION) -> TypescriptCompiler:
    """Return the compiler; install what the cache does not have."""
    node = install_node()
    proof = "node_modules/typescript/bin/tsc"
    compiler = install(NpmProgram("typescript", "typescript", version, proof, beside=(NODE_TYPES,)))
    return TypescriptCompiler((str(node), str(compiler)), compiler.parents[2] / "@types")
