"""Installing into agents and removing again: one module an agent, all of one shape (`shape.Installation`)."""
