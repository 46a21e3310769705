"""Claude Code: payload to command, decision to reply, setup as edits, transcript to records."""
