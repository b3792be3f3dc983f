"""The A-Tree of a-tree2021, packed for matching, or live while rules come and go."""
