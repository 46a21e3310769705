"""Loop guard: what counts as going in circles, what excuses it, and what is said about it."""
