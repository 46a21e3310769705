"""opencode: its log as records."""
