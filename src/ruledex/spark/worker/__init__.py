"""What jobs share in Spark's Python workers, and in the plans that lead there."""
