"""Claude Code: payload to command, decision to reply, setup as edits, transcript to records."""

from tokeneconomizer.hosts.claude_code.log import calls_of_turn, settled
from tokeneconomizer.hosts.claude_code.payload import NAME, decode
from tokeneconomizer.hosts.claude_code.reply import encode, hides_hints

__all__ = ["NAME", "calls_of_turn", "decode", "encode", "hides_hints", "settled"]
