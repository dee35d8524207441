"""Other people's names and conventions, as views of the same engine. Import the one you need."""
