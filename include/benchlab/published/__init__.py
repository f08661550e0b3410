"""Reads, audits and renders performance test reports that were published as Markdown pages.

A page is not a campaign. It has one printed figure where a campaign has trials, and may lack
anything that a campaign records, so it has its own data model
(:mod:`benchlab.published.model`)::

    report, raw = page.load(Path("sysbench-v5.2.0-vs-v5.1.1.md"))
    discrepancies = audit([report])[0].discrepancies
    files = rendering.make(report, english())
"""
