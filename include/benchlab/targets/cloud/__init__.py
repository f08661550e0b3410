"""Clusters of TiDB Cloud Dedicated: made, found and deleted by their names alone."""
