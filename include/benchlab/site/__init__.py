"""The benchmark site: pages over the results store, the same in Airflow's UI and as plain files.

Each page has a module with a function that reads the store and returns a
:class:`~benchlab.site.page.Page`, such as ``campaign(site, "c1")``.
:func:`benchlab.site.page.render` turns it into HTML.
"""
