"""Widths and codes that a Program, its kernels and its engines share. Each is declared only here."""

from __future__ import annotations

import numpy as np

NODE = np.int32
CELL = np.int32
RULE = np.int32
OFFSET = np.int64  # an index into arrays of events or of texts
PLACE = np.int32  # an index into the Program's own arrays
WEIGHT = np.float64
OP = np.uint8

EVERY = 0  # the cell that each event has
ALWAYS = -1  # the root of a rule that is true of every event
NEVER = -2  # the root of a rule that no event makes true

# The operation of a node of the Program (AND, OR), and those of score programs. program/program.py defines them.
AND, OR, XOR, XNOR, LEAF, CONSTANT, FALSE_BY, WEIGH = range(8)
STEP_BITS, OPERATION = 3, 7  # a step is `argument << STEP_BITS | operation`
IS_FALSE, IS_TRUE, IS_UNKNOWN, SCORES_ONE = range(4)  # the arguments of CONSTANT; the first three are also truths
