"""`python -m ruledex` is the command line."""

from ruledex.cli.main import main

if __name__ == "__main__":
    main()
