package adducir;

import java.util.Arrays;

/**
 * What the analysis made of pieces of text, by their bytes: a hash table of bounded size for one
 * thread. Pieces that come early stay, and they are the frequent ones.
 */
final class SeenChunks {
  /** Pieces of more bytes are not kept. */
  static final int LONGEST = 48;

  private static final int MOST = 1 << 17;
  private static final int SLOTS = 2 * MOST;

  private final int[] hashes = new int[SLOTS];
  private final int[] entries = new int[SLOTS]; // 1 + the entry's number, 0 for none
  private final int[] byteStarts = new int[MOST + 1];
  private final int[] termStarts = new int[MOST + 1];
  private byte[] bytes = new byte[1 << 20];
  private int[] terms = new int[MOST];
  private int count = 0;

  /** The number of the piece {@code text[from, to)} with that hash, or -1. */
  int find(byte[] text, int from, int to, int hash) {
    for (int slot = slot(hash); entries[slot] != 0; slot = (slot + 1) & (SLOTS - 1)) {
      int entry = entries[slot] - 1;
      if (hashes[slot] == hash
          && Arrays.equals(bytes, byteStarts[entry], byteStarts[entry + 1], text, from, to)) {
        return entry;
      }
    }
    return -1;
  }

  /** Where the terms of a piece begin in {@link #terms}; those of the next one follow. */
  int termStart(int entry) {
    return termStarts[entry];
  }

  int[] terms() {
    return terms;
  }

  /** Keep the terms {@code made[first, last)} of a piece that is not there, if there is room. */
  void keep(byte[] text, int from, int to, int hash, int[] made, int first, int last) {
    if (count == MOST || to - from > LONGEST) {
      return;
    }
    int byteStart = byteStarts[count];
    int termStart = termStarts[count];
    if (byteStart + to - from > bytes.length) {
      bytes = Arrays.copyOf(bytes, 2 * bytes.length);
    }
    if (termStart + last - first > terms.length) {
      terms = Arrays.copyOf(terms, 2 * terms.length);
    }
    System.arraycopy(text, from, bytes, byteStart, to - from);
    System.arraycopy(made, first, terms, termStart, last - first);
    byteStarts[count + 1] = byteStart + to - from;
    termStarts[count + 1] = termStart + last - first;
    int slot = slot(hash);
    while (entries[slot] != 0) {
      slot = (slot + 1) & (SLOTS - 1);
    }
    hashes[slot] = hash;
    entries[slot] = ++count;
  }

  private static int slot(int hash) {
    return hash * 0x9E3779B1 >>> Integer.numberOfLeadingZeros(SLOTS - 1);
  }
}
