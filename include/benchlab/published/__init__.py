"""Performance test reports that were published as Markdown pages: read, recomputed, audited.

A page is not a campaign: it has one printed figure where a campaign has trials, and may lack any of
what a campaign knows. So it has a record of its own (:mod:`benchlab.published.reading.model`).
"""
