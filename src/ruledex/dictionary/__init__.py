"""Values to cells: which values no rule can tell apart."""
