"""An index of memory-mapped arrays that ranks as Lucene does, exhaustively and fast."""
