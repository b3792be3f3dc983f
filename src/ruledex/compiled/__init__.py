"""The foundation of all kernels: the decorator that compiles them, bits, arrays, and the constants of a Program."""
