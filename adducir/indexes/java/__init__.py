"""The Java sources of the bridge to Lucene, and how they are compiled."""
