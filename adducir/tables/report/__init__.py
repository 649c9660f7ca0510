"""The report: a result table as one HTML page, with figures, topics and hits.

:mod:`~adducir.tables.report.page` puts the page together, ``sections`` has a file for each part of
it, ``drawing`` and ``palette`` are what figures are made of, ``payload`` is the data that the
page's script reads. All of the page stands without script, without network and on paper.
"""
