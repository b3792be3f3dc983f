"""Changes of an index while it answers: the delta, the journal and what holds them together."""
