package adducir;

import io.anserini.index.Constants;
import java.io.IOException;
import java.util.Arrays;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.util.BytesRef;

/** The docno of every Lucene document number, in one block of UTF-8. */
final class Docnos {
  private final byte[] joined;
  private final int[] starts;

  /** Reads the docnos of an index; the joined form ends each docno with a line feed. */
  Docnos(IndexReader reader) throws IOException {
    int documents = reader.maxDoc();
    starts = new int[documents + 1];
    byte[] bytes = new byte[Math.max(1024, documents * 24)];
    int length = 0;
    for (LeafReaderContext leaf : reader.leaves()) {
      BinaryDocValues values = leaf.reader().getBinaryDocValues(Constants.ID);
      for (int doc = 0; doc < leaf.reader().maxDoc(); doc++) {
        if (values == null || !values.advanceExact(doc)) {
          throw new IOException("document " + (leaf.docBase + doc) + " has no docno");
        }
        BytesRef docno = values.binaryValue();
        if (length + docno.length + 1 > bytes.length) {
          bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + docno.length + 1));
        }
        System.arraycopy(docno.bytes, docno.offset, bytes, length, docno.length);
        length += docno.length;
        bytes[length++] = '\n';
        starts[leaf.docBase + doc + 1] = length;
      }
    }
    joined = Arrays.copyOf(bytes, length);
  }

  byte[] joined() {
    return joined;
  }

  /** Compares two documents by docno: UTF-8 byte order, which is the order of code points. */
  int compare(int doc, int other) {
    return Arrays.compareUnsigned(
        joined, starts[doc], starts[doc + 1] - 1, joined, starts[other], starts[other + 1] - 1);
  }
}
