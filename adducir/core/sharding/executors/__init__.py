"""Where shards are made, one file each; all speak one protocol: shards in, reports out."""
