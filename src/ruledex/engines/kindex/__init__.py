"""The engines `dnf` and `cnf`: the inverted lists of whang2009 over normal forms."""
