"""Values to cells: a cell stands for values that no rule can tell apart."""
