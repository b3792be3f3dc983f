"""Widths and codes that a Program, its kernels and its engines share, each declared here alone."""

from __future__ import annotations

import numpy as np

NODE = np.int32
CELL = np.int32
RULE = np.int32
OFFSET = np.int64  # into what belongs to events, or to texts
PLACE = np.int32  # into the Program's own arrays
WEIGHT = np.float64
OP = np.uint8

EVERY = 0  # the cell that each event has
ALWAYS = -1  # the root of a rule that is true of every event
NEVER = -2  # the root of a rule that no event makes true

# What a node of the Program is (AND, OR), and the operations of score programs; program/program.py says what they mean.
AND, OR, XOR, XNOR, LEAF, CONSTANT, FALSE_BY, WEIGH = range(8)
STEP_BITS, OPERATION = 3, 7  # a step is `argument << STEP_BITS | operation`
IS_FALSE, IS_TRUE, IS_UNKNOWN, SCORES_ONE = range(4)  # the arguments of CONSTANT; the first three are also truths
