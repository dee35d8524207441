"""The `linkwork` command."""

import sys

from linkwork.errors import missing_package


def run() -> None:
    """Run the command; explain what to install if its packages are missing."""
    try:
        from linkwork.cli.main import main
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"linkwork: error: {missing_package('the linkwork command', 'typer', 'rich')}")
    main()
