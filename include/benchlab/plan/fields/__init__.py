"""Fields of a report type that have fields of their own; each module is called as its field."""
