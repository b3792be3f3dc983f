"""Events made from rules, and what index and reference answer to them. Spark's ratification shares its parts."""
