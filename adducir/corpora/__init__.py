"""Documents, topics and judgements: from ir_datasets, from local files, from the bundle."""
