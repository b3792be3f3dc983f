"""The rules that come closest to an event, though not all of their conjuncts hold."""
