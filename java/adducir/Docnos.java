package adducir;

import io.anserini.index.Constants;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.util.BytesRef;

/**
 * The docno of every Lucene document number, in blocks of UTF-8.
 *
 * <p>A Java array ends at 2 GB: the docnos of 89 million documents of 24 bytes. Blocks have no such
 * end, and one block of MS MARCO v2's is small beside what Python makes of it.
 */
final class Docnos {
  /** Bytes of a block, by default: docnos of about two million documents. */
  static final int BLOCK = 1 << 26;

  private final int blockSize;
  private final List<byte[]> blocks = new ArrayList<>();
  private final int[] starts; // of each docno in its block
  private int[] firsts = new int[4]; // the first document of each block
  private byte[] last = new byte[0];
  private int length;
  private int count;

  /** Makes room for {@code documents} docnos; {@code add} them in order, then {@code finish}. */
  Docnos(int documents, int blockSize) {
    this.blockSize = blockSize;
    this.starts = new int[documents];
  }

  /** Reads the docnos of an index. */
  static Docnos of(IndexReader reader, int blockSize) throws IOException {
    Docnos docnos = new Docnos(reader.maxDoc(), blockSize);
    for (LeafReaderContext leaf : reader.leaves()) {
      BinaryDocValues values = leaf.reader().getBinaryDocValues(Constants.ID);
      for (int doc = 0; doc < leaf.reader().maxDoc(); doc++) {
        if (values == null || !values.advanceExact(doc)) {
          throw new IOException("document " + (leaf.docBase + doc) + " has no docno");
        }
        docnos.add(values.binaryValue());
      }
    }
    docnos.finish();
    return docnos;
  }

  void add(BytesRef docno) {
    int size = docno.length + 1;
    if (count == 0 || (length > 0 && size > blockSize - length)) {
      finish();
      last = new byte[Math.max(size, Math.min(blockSize, 1024))];
      length = 0;
      if (blocks.size() == firsts.length) {
        firsts = Arrays.copyOf(firsts, 2 * firsts.length);
      }
      firsts[blocks.size()] = count;
      blocks.add(last);
    } else if (size > last.length - length) {
      long doubled = Math.max(2L * last.length, (long) length + size);
      last = Arrays.copyOf(last, (int) Math.min(blockSize, doubled));
    }
    System.arraycopy(docno.bytes, docno.offset, last, length, docno.length);
    starts[count++] = length;
    length += size;
    last[length - 1] = '\n';
  }

  /** Cuts the last block to its docnos. */
  void finish() {
    if (!blocks.isEmpty()) {
      blocks.set(blocks.size() - 1, Arrays.copyOf(last, length));
    }
  }

  int blocks() {
    return blocks.size();
  }

  /** The docnos of a block, in order of documents, each ended by a line feed. */
  byte[] block(int number) {
    return blocks.get(number);
  }

  /** Compares two documents by docno: UTF-8 byte order, which is the order of code points. */
  int compare(int doc, int other) {
    int one = blockOf(doc);
    int two = blockOf(other);
    return Arrays.compareUnsigned(
        blocks.get(one), starts[doc], end(doc, one), blocks.get(two), starts[other], end(other, two));
  }

  private int blockOf(int doc) {
    int found = Arrays.binarySearch(firsts, 0, blocks.size(), doc);
    return found < 0 ? -found - 2 : found;
  }

  private int end(int doc, int block) {
    boolean isLast = block + 1 < blocks.size() ? firsts[block + 1] == doc + 1 : doc + 1 == count;
    return (isLast ? blocks.get(block).length : starts[doc + 1]) - 1;
  }
}
