"""Text sources, and XML that is read without trust and written without loss."""
