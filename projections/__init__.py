"""Read models folded from the event log; thrown away and rebuilt at will."""
