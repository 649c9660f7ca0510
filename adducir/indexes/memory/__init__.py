"""An index of memory-mapped arrays that ranks as Lucene does, exhaustively and fast."""

KIND = "memory-index"
BUILDER_VERSION = 4
