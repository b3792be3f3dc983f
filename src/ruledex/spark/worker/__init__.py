"""What the jobs share: in Spark's Python workers, and in the plans for them."""
