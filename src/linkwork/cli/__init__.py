"""The `linkwork` command."""
