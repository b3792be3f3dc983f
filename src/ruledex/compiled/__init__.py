"""What all kernels stand on: the decorator that compiles them, bits, arrays, and the constants of a Program."""
