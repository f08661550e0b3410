"""The benchmark site: pages over the results store, the same in Airflow's UI and as plain files.

A page is a module with a function that reads the store and returns a
:class:`~benchlab.site.page.Page`: ``overview(site)``, ``campaign(site, "c1")``. From it
:func:`benchlab.site.page.render` makes HTML.
"""
