"""States of a workcell: immutable values and attachments, their structure and files."""
