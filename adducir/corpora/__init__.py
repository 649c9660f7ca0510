"""Documents, topics and judgements: from ir_datasets, local files and the bundle."""
