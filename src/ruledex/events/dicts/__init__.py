"""Read lists of dicts in compiled code, from the bytes that `marshal` writes of them."""
