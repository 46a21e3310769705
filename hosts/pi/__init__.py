"""Pi: its log as records."""
