"""Input of documents, safe parsing of XML, and strict reading of its elements."""
