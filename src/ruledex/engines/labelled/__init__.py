"""The engines `dewey` and `interval`: trees of labelled conjunctions (fontoura2010)."""
