"""`python -m slidefold.cli`."""

from slidefold.cli import main

if __name__ == "__main__":
    main()
