"""Rules to a Program: flat arrays of literals, nodes, roots and scores."""
