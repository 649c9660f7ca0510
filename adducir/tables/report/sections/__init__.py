"""The parts of a report, a file each, in the order in which they stand.

A part is a function from a :class:`~adducir.tables.report.view.View` to a
:class:`~adducir.tables.report.view.Section`, or to None where the table has nothing for it.
"""
