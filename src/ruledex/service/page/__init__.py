"""The page at `/`, for people who own rules: its files are in `static/`, and `files.py` answers them."""
