"""The functions that a rule may apply to an attribute before testing it."""
