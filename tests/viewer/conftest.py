"""The page is tested in a real browser where there is one; `make test-viewer` installs it."""

from tests.support.browser import program

collect_ignore = [] if program() else ["test_browser.py"]
