"""Checks of published pages. A module in this package is a family of them, found by presence.

Such a module has one of:

``check(report) -> iterable of Finding``
    What is wrong within one page.
``check_all(reports) -> iterable of (report, Finding)``
    What is wrong between several pages, and in which of them it is told. It is called when more
    than one is audited.

A finding is told only where it is certain: what a page leaves open is no finding.
"""
