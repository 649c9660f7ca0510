package adducir;

import io.anserini.index.Constants;
import io.anserini.search.similarity.AccurateBM25Similarity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.lucene.document.BinaryDocValuesField;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * Writes a Lucene index with the fields that Anserini's IndexCollection writes, so that every tool
 * made for Anserini's indexes reads it.
 *
 * <p>Documents arrive in blocks: for each document the length of its docno (int, little endian),
 * the docno, the length of its text and the text, both UTF-8; then the length and the text of each
 * field that is indexed by itself. Worker threads take the blocks.
 */
public final class BulkIndexer {
  private static final byte[] END = new byte[0];
  private static final int BLOCKS_WAITING = 8;

  private final IndexWriter writer;
  private final FieldType contentsType = new FieldType();
  private final BlockingQueue<byte[]> blocks = new ArrayBlockingQueue<>(BLOCKS_WAITING);
  private final AtomicReference<Throwable> fault = new AtomicReference<>();
  private final AtomicLong indexed = new AtomicLong();
  private final AtomicLong empty = new AtomicLong();
  private final Thread[] workers;
  private final String[] fields;

  /**
   * Opens a new index and starts the worker threads.
   *
   * @param folder an empty folder
   * @param positions whether postings hold positions
   * @param vectors whether documents' term vectors are stored (RM3 reads them)
   * @param accurate whether the norm holds the exact length (for AccurateBM25Similarity only)
   * @param bufferMegabytes memory for postings not yet written
   * @param fields the fields that are also indexed by themselves
   */
  public BulkIndexer(
      String folder,
      Analysis analysis,
      boolean positions,
      boolean vectors,
      boolean accurate,
      int threads,
      int bufferMegabytes,
      String[] fields)
      throws IOException {
    this.fields = fields;
    IndexWriterConfig config = new IndexWriterConfig(analysis.analyzer());
    config.setOpenMode(IndexWriterConfig.OpenMode.CREATE);
    config.setSimilarity(accurate ? new AccurateBM25Similarity() : new BM25Similarity());
    config.setRAMBufferSizeMB(bufferMegabytes);
    config.setUseCompoundFile(false);
    writer = new IndexWriter(FSDirectory.open(Paths.get(folder)), config);
    contentsType.setIndexOptions(
        positions ? IndexOptions.DOCS_AND_FREQS_AND_POSITIONS : IndexOptions.DOCS_AND_FREQS);
    contentsType.setStoreTermVectors(vectors);
    contentsType.freeze();
    workers = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      workers[i] = new Thread(this::work, "adducir-indexer-" + i);
      workers[i].setDaemon(true);
      workers[i].start();
    }
  }

  /** Hands over one block; waits while the workers are behind. */
  public void add(byte[] block) throws IOException, InterruptedException {
    while (!blocks.offer(block, 1, TimeUnit.SECONDS)) {
      throwFault();
    }
    throwFault();
  }

  /** Documents written so far. */
  public long indexed() {
    return indexed.get();
  }

  /** Documents without text so far; like Anserini, the index does not hold them. */
  public long empty() {
    return empty.get();
  }

  /** Waits for the workers, commits and closes; the index is whole when this returns. */
  public void finish() throws IOException, InterruptedException {
    for (int i = 0; i < workers.length; i++) {
      add(END);
    }
    for (Thread worker : workers) {
      worker.join();
    }
    throwFault();
    writer.commit();
    writer.close();
  }

  /** Gives up: stops the workers and throws away what was written. */
  public void abort() throws IOException, InterruptedException {
    for (Thread worker : workers) {
      worker.interrupt();
    }
    for (Thread worker : workers) {
      worker.join();
    }
    writer.rollback();
  }

  private void work() {
    // One Document and its Fields serve all documents of a worker: making them anew costs time.
    StringField id = new StringField(Constants.ID, "", Field.Store.YES);
    BinaryDocValuesField idForTies = new BinaryDocValuesField(Constants.ID, new BytesRef());
    Field contents = new Field(Constants.CONTENTS, "", contentsType);
    Document document = new Document();
    document.add(id);
    document.add(idForTies);
    document.add(contents);
    Field[] separate = new Field[fields.length];
    for (int i = 0; i < separate.length; i++) {
      separate[i] = new Field(fields[i], "", contentsType);
      document.add(separate[i]);
    }
    try {
      for (byte[] block = blocks.take(); block != END; block = blocks.take()) {
        ByteBuffer lengths = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
        int position = 0;
        while (position < block.length) {
          int docnoLength = lengths.getInt(position);
          int docnoStart = position + Integer.BYTES;
          int textLength = lengths.getInt(docnoStart + docnoLength);
          int textStart = docnoStart + docnoLength + Integer.BYTES;
          position = textStart + textLength;
          String text = new String(block, textStart, textLength, StandardCharsets.UTF_8);
          for (Field field : separate) {
            int length = lengths.getInt(position);
            position += Integer.BYTES;
            field.setStringValue(new String(block, position, length, StandardCharsets.UTF_8));
            position += length;
          }
          // Anserini's rule, which knows no white space beyond ASCII.
          if (text.trim().isEmpty()) {
            empty.incrementAndGet();
            continue;
          }
          id.setStringValue(new String(block, docnoStart, docnoLength, StandardCharsets.UTF_8));
          idForTies.setBytesValue(new BytesRef(block, docnoStart, docnoLength));
          contents.setStringValue(text);
          writer.addDocument(document);
          indexed.incrementAndGet();
        }
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (Throwable thrown) {
      fault.compareAndSet(null, thrown);
    }
  }

  private void throwFault() throws IOException {
    Throwable thrown = fault.get();
    if (thrown != null) {
      throw new IOException(thrown.getMessage(), thrown);
    }
  }
}
