"""People's annotations: agreement of raters, distributions of labels, multiple-choice tasks."""
