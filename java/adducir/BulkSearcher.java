package adducir;

import io.anserini.index.Constants;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.FieldInfos;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.TermVectors;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.Scorer;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.Weight;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * Searches an index of Anserini's shape: many queries in, packed arrays out.
 *
 * <p>A hit that crosses from Java to Python as an object costs more than finding it; here all hits
 * of a call cross as one block of bytes.
 */
public final class BulkSearcher implements AutoCloseable {
  private final DirectoryReader reader;
  private final Docnos docnos;

  /** Opens the index in {@code folder}. */
  public BulkSearcher(String folder) throws IOException {
    this(folder, Docnos.BLOCK);
  }

  /** Opens it with docnos in blocks of at most {@code blockSize} bytes, if each fits into one. */
  public BulkSearcher(String folder, int blockSize) throws IOException {
    // RM3 over long queries passes Lucene's default of 1,024 clauses.
    IndexSearcher.setMaxClauseCount(Integer.MAX_VALUE);
    this.reader = DirectoryReader.open(FSDirectory.open(Paths.get(folder)));
    this.docnos = Docnos.of(reader, blockSize);
  }

  /** How many blocks the docnos fill. */
  public int docnoBlocks() {
    return docnos.blocks();
  }

  /** A block of docnos in the order of Lucene's document numbers, each ended by a line feed. */
  public byte[] docnos(int block) {
    return docnos.block(block);
  }

  /** Whether every segment with documents stores term vectors. */
  public boolean hasVectors() {
    for (LeafReaderContext leaf : reader.leaves()) {
      var contents = leaf.reader().getFieldInfos().fieldInfo(Constants.CONTENTS);
      if (contents != null && !(boolean) Either.call(contents, "hasTermVectors", "hasVectors")) {
        return false;
      }
    }
    return true;
  }

  /** Documents, distinct terms and tokens of the index; walks all terms where segments differ. */
  public long[] statistics() throws IOException {
    long distinct = 0;
    Terms terms = MultiTerms.getTerms(reader, Constants.CONTENTS);
    if (terms != null && terms.size() >= 0) {
      distinct = terms.size();
    } else if (terms != null) {
      for (TermsEnum each = terms.iterator(); each.next() != null; ) {
        distinct++;
      }
    }
    long tokens = Math.max(0, reader.getSumTotalTermFreq(Constants.CONTENTS));
    return new long[] {reader.numDocs(), distinct, tokens};
  }

  /**
   * Ranks the documents for each query, a number of weighted terms of the index.
   *
   * @param terms the terms of all queries, one query after the other, with their {@code weights}
   * @param sizes how many terms each query has
   * @param fields the fields that are searched; a score is the sum of theirs, times {@code boosts}
   * @return for q queries and n hits in all: q counts (int), n Lucene document numbers (int), n
   *     scores (float), little endian
   */
  public byte[] search(
      String[] terms,
      float[] weights,
      int[] sizes,
      Similarity similarity,
      int depth,
      int threads,
      String[] fields,
      float[] boosts)
      throws IOException, InterruptedException {
    IndexSearcher searcher = new IndexSearcher(reader);
    searcher.setSimilarity(similarity);
    List<Callable<TopDocnos>> calls = new ArrayList<>();
    for (Query query : queries(terms, weights, sizes, fields, boosts)) {
      calls.add(() -> top(searcher, query, depth));
    }
    return pack(inParallel(calls, threads));
  }

  /**
   * Scores given documents for each query, whatever the size of the index.
   *
   * @param docs Lucene's document numbers of all queries, ascending within each
   * @param counts how many documents each query has
   * @return their scores, 0 for those without a term of the query
   */
  public float[] score(
      String[] terms,
      float[] weights,
      int[] sizes,
      Similarity similarity,
      int[] docs,
      int[] counts,
      int threads,
      String[] fields,
      float[] boosts)
      throws IOException, InterruptedException {
    IndexSearcher searcher = new IndexSearcher(reader);
    searcher.setSimilarity(similarity);
    float[] scores = new float[docs.length];
    List<Callable<Void>> calls = new ArrayList<>();
    int first = 0;
    int number = 0;
    for (Query query : queries(terms, weights, sizes, fields, boosts)) {
      int from = first;
      int to = first + counts[number++];
      calls.add(() -> fill(searcher, query, docs, scores, from, to));
      first = to;
    }
    inParallel(calls, threads);
    return scores;
  }

  private Void fill(
      IndexSearcher searcher, Query query, int[] docs, float[] scores, int from, int to)
      throws IOException {
    Weight weight = searcher.createWeight(searcher.rewrite(query), ScoreMode.COMPLETE, 1f);
    int at = from;
    for (LeafReaderContext leaf : reader.leaves()) {
      int end = leaf.docBase + leaf.reader().maxDoc();
      Scorer scorer = at < to && docs[at] < end ? weight.scorer(leaf) : null;
      for (; at < to && docs[at] < end; at++) {
        int doc = docs[at] - leaf.docBase;
        if (scorer != null && scorer.docID() < doc) {
          scorer.iterator().advance(doc);
        }
        if (scorer != null && scorer.docID() == doc) {
          scores[at] = scorer.score();
        }
      }
    }
    return null;
  }

  private static List<Query> queries(
      String[] terms, float[] weights, int[] sizes, String[] fields, float[] boosts) {
    List<Query> queries = new ArrayList<>();
    int first = 0;
    for (int size : sizes) {
      BooleanQuery.Builder builder = new BooleanQuery.Builder();
      for (int field = 0; field < fields.length; field++) {
        Query each = inField(fields[field], terms, weights, first, first + size);
        builder.add(new BoostQuery(each, boosts[field]), BooleanClause.Occur.SHOULD);
      }
      first += size;
      queries.add(builder.build());
    }
    return queries;
  }

  private static Query inField(
      String field, String[] terms, float[] weights, int first, int last) {
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    for (int i = first; i < last; i++) {
      TermQuery term = new TermQuery(new Term(field, terms[i]));
      builder.add(new BoostQuery(term, weights[i]), BooleanClause.Occur.SHOULD);
    }
    return builder.build();
  }

  /** The names of the fields that can be searched. */
  public String[] fields() {
    return FieldInfos.getIndexedFields(reader).stream().sorted().toArray(String[]::new);
  }

  /**
   * The terms of n documents, each one's most frequent first and equal ones in order of their text.
   *
   * @return the numbers P of all terms and T of distinct ones; how many terms each document has
   *     (n), their numbers (P) and frequencies (P), how many documents hold each distinct term (T),
   *     all little-endian ints; and the distinct terms, each ended by a line feed, UTF-8
   */
  public byte[] vectors(int[] docs) throws IOException {
    Map<String, Integer> numbers = new LinkedHashMap<>();
    List<Integer> sizes = new ArrayList<>();
    List<Integer> terms = new ArrayList<>();
    List<Integer> counts = new ArrayList<>();
    TermVectors vectors = reader.termVectors();
    for (int doc : docs) {
      List<Map.Entry<String, Integer>> vector = new ArrayList<>();
      Terms own = vectors.get(doc, Constants.CONTENTS);
      if (own != null) {
        TermsEnum each = own.iterator();
        for (BytesRef text = each.next(); text != null; text = each.next()) {
          vector.add(Map.entry(text.utf8ToString(), (int) each.totalTermFreq()));
        }
      }
      vector.sort(Map.Entry.comparingByValue(Comparator.reverseOrder()));
      sizes.add(vector.size());
      for (Map.Entry<String, Integer> one : vector) {
        Integer number = numbers.putIfAbsent(one.getKey(), numbers.size());
        terms.add(number == null ? numbers.size() - 1 : number);
        counts.add(one.getValue());
      }
    }
    byte[] names = (String.join("\n", numbers.keySet()) + "\n").getBytes(StandardCharsets.UTF_8);
    int ints = 2 + docs.length + 2 * terms.size() + numbers.size();
    ByteBuffer packed =
        ByteBuffer.allocate(Integer.BYTES * ints + names.length).order(ByteOrder.LITTLE_ENDIAN);
    packed.putInt(terms.size()).putInt(numbers.size());
    for (List<Integer> part : List.of(sizes, terms, counts)) {
      part.forEach(packed::putInt);
    }
    for (int frequency : frequencies(numbers.keySet().toArray(String[]::new))) {
      packed.putInt(frequency);
    }
    return packed.put(names).array();
  }

  /** How many documents hold each term. */
  public int[] frequencies(String[] terms) throws IOException {
    int[] frequencies = new int[terms.length];
    for (int i = 0; i < terms.length; i++) {
      frequencies[i] = reader.docFreq(new Term(Constants.CONTENTS, terms[i]));
    }
    return frequencies;
  }

  /** How often each term occurs. */
  public long[] occurrences(String[] terms) throws IOException {
    long[] occurrences = new long[terms.length];
    for (int i = 0; i < terms.length; i++) {
      occurrences[i] = reader.totalTermFreq(new Term(Constants.CONTENTS, terms[i]));
    }
    return occurrences;
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }

  @SuppressWarnings("deprecation") // Lucene 10 wants a manager of collectors; Lucene 9 has none
  private TopDocnos top(IndexSearcher searcher, Query query, int depth) throws IOException {
    TopDocnos best = new TopDocnos(docnos, Math.min(depth, Math.max(1, reader.maxDoc())));
    searcher.search(query, best);
    return best;
  }

  private static <T> List<T> inParallel(List<Callable<T>> calls, int threads)
      throws IOException, InterruptedException {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<T> results = new ArrayList<>(calls.size());
      for (Future<T> future : pool.invokeAll(calls)) {
        results.add(future.get());
      }
      return results;
    } catch (ExecutionException failed) {
      throw new IOException(String.valueOf(failed.getCause()), failed.getCause());
    } finally {
      pool.shutdown();
    }
  }

  private static byte[] pack(List<TopDocnos> rankings) {
    int hits = rankings.stream().mapToInt(TopDocnos::size).sum();
    int[] docs = new int[hits];
    float[] scores = new float[hits];
    ByteBuffer packed =
        ByteBuffer.allocate(Integer.BYTES * (rankings.size() + 2 * hits))
            .order(ByteOrder.LITTLE_ENDIAN);
    int start = 0;
    for (TopDocnos ranking : rankings) {
      int count = ranking.drain(docs, scores, start);
      packed.putInt(count);
      start += count;
    }
    packed.asIntBuffer().put(docs);
    packed.position(packed.position() + Integer.BYTES * hits);
    packed.asFloatBuffer().put(scores);
    return packed.array();
  }
}
