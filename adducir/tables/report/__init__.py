"""The report: a result table as one HTML page, with figures, topics and hits."""
