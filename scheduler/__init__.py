"""The event store, the application, the daemon, timers and the spool."""
