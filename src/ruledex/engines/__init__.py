"""Index structures over one Program, behind one protocol; `registry` finds them by name."""
