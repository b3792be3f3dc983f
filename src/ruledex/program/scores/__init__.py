"""Score programs: how a rule is scored once it is found true."""
