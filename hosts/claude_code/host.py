"""What a hook call of Claude Code means; see `hosts.host.Host`."""

from tokeneconomizer.hosts.claude_code.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.claude_code.payload import NAME, decode
from tokeneconomizer.hosts.claude_code.reply import encode, hides_hints

__all__ = ["NAME", "calls_of_turn", "decode", "encode", "hides_hints", "settled"]
