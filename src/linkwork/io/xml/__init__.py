"""Input of documents, safe parsing of XML, and writing of XML without loss of precision."""
