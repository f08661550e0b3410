"""The nested fields of a report type; each module has the name of its field."""
