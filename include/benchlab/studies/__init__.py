"""Questions over many campaigns: sensitivity, bisection, long view, backfills."""
