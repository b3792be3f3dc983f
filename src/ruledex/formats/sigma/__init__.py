"""Reads rules of Sigma, and is a backend of pySigma."""
