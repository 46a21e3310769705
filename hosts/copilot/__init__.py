"""GitHub Copilot CLI: its log as records."""
