"""`python -m linkwork`: the command line."""

from linkwork.cli import run

if __name__ == "__main__":
    run()
