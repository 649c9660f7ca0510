package adducir;

import io.anserini.analysis.AnalyzerUtils;
import io.anserini.index.Constants;
import io.anserini.rerank.RerankerContext;
import io.anserini.search.ScoredDocs;
import io.anserini.search.SearchCollection;
import io.anserini.search.query.BagOfWordsQueryGenerator;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.lucene.document.Document;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;
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
  private final Analysis analysis;
  private final Docnos docnos;

  /** Opens the index in {@code folder}; queries go through {@code analysis}. */
  public BulkSearcher(String folder, Analysis analysis) throws IOException {
    // RM3 over long queries passes Lucene's default of 1,024 clauses.
    IndexSearcher.setMaxClauseCount(Integer.MAX_VALUE);
    this.reader = DirectoryReader.open(FSDirectory.open(Paths.get(folder)));
    this.analysis = analysis;
    this.docnos = new Docnos(reader);
  }

  /** All docnos in the order of Lucene's document numbers, each ended by a line feed, UTF-8. */
  public byte[] docnos() {
    return docnos.joined();
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

  /** Anserini's RM3; see {@link Expander#rm3}. */
  public Expander rm3(int terms, int documents, float originalQueryWeight, boolean plain) {
    return Expander.rm3(analysis.analyzer(), terms, documents, originalQueryWeight, plain);
  }

  /** Anserini's BM25PRF; see {@link Expander#bm25prf}. */
  public Expander bm25prf(int terms, int documents, float k1, float b, float newTermWeight) {
    return Expander.bm25prf(analysis.analyzer(), terms, documents, k1, b, newTermWeight);
  }

  /** A query from text, as Anserini builds it. */
  public Query textQuery(String text) {
    return new BagOfWordsQueryGenerator()
        .buildQuery(Constants.CONTENTS, analysis.analyzer(), text);
  }

  /** A query from terms of the index and their weights. */
  public static Query weightedQuery(String[] terms, float[] weights) {
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (int i = 0; i < terms.length; i++) {
      TermQuery term = new TermQuery(new Term(Constants.CONTENTS, terms[i]));
      query.add(new BoostQuery(term, weights[i]), BooleanClause.Occur.SHOULD);
    }
    return query.build();
  }

  /**
   * A query from terms and their weights over weighted fields: BM25F.
   *
   * <p>Lucene 10 keeps CombinedFieldQuery in another package than Lucene 9, and takes the term when
   * its builder is made.
   */
  public static Query fieldsQuery(
      String[] terms, float[] weights, String[] fields, float[] fieldWeights)
      throws ReflectiveOperationException {
    Class<?> builder;
    boolean isNew = true;
    try {
      builder = Class.forName("org.apache.lucene.search.CombinedFieldQuery$Builder");
    } catch (ClassNotFoundException old) {
      builder = Class.forName("org.apache.lucene.sandbox.search.CombinedFieldQuery$Builder");
      isNew = false;
    }
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (int i = 0; i < terms.length; i++) {
      BytesRef text = new BytesRef(terms[i]);
      Object term;
      if (isNew) {
        term = builder.getConstructor(BytesRef.class).newInstance(text);
      } else {
        term = builder.getConstructor().newInstance();
        builder.getMethod("addTerm", BytesRef.class).invoke(term, text);
      }
      for (int j = 0; j < fields.length; j++) {
        builder.getMethod("addField", String.class, float.class)
            .invoke(term, fields[j], fieldWeights[j]);
      }
      Query one = (Query) builder.getMethod("build").invoke(term);
      query.add(new BoostQuery(one, weights[i]), BooleanClause.Occur.SHOULD);
    }
    return query.build();
  }

  /**
   * Ranks the documents for each query.
   *
   * @param texts the queries' texts: feedback takes the original query from here
   * @param queries what is searched, as long as {@code texts}
   * @param method null for no feedback
   * @param feedbackDocuments how many documents the method reads
   * @return for q queries and n hits in all: q counts (int), n Lucene document numbers (int), n
   *     scores (float), little endian
   */
  public byte[] search(
      String[] texts,
      Query[] queries,
      Similarity similarity,
      Expander method,
      int feedbackDocuments,
      int depth,
      int threads)
      throws IOException, InterruptedException {
    IndexSearcher searcher = new IndexSearcher(reader);
    searcher.setSimilarity(similarity);
    List<Callable<TopDocnos>> calls = new ArrayList<>();
    for (int i = 0; i < queries.length; i++) {
      final String text = texts[i];
      final Query query = queries[i];
      calls.add(
          () -> {
            Query last =
                method == null
                    ? query
                    : weightedQuery(feedback(searcher, method, text, query, feedbackDocuments));
            return top(searcher, last, depth);
          });
    }
    return pack(inParallel(calls, threads));
  }

  /**
   * The expanded query for each query, as lines of "term, tab, weight" (Java's shortest float).
   */
  public String[] expand(
      String[] texts,
      Query[] queries,
      Similarity similarity,
      Expander method,
      int feedbackDocuments,
      int threads)
      throws IOException, InterruptedException {
    IndexSearcher searcher = new IndexSearcher(reader);
    searcher.setSimilarity(similarity);
    List<Callable<String>> calls = new ArrayList<>();
    for (int i = 0; i < queries.length; i++) {
      final String text = texts[i];
      final Query query = queries[i];
      calls.add(() -> lines(feedback(searcher, method, text, query, feedbackDocuments)));
    }
    return inParallel(calls, threads).toArray(String[]::new);
  }

  /** The expanded query from given feedback documents, best first, with their scores. */
  public String expandFrom(String text, int[] docs, float[] scores, Expander method)
      throws IOException {
    return lines(estimate(new IndexSearcher(reader), method, text, textQuery(text), docs, scores));
  }

  /**
   * The terms of each document, as lines of "term, tab, frequency, tab, documents that hold it".
   *
   * @return an empty text for a document without a term vector
   */
  public String[] vectors(int[] docs, int threads) throws IOException, InterruptedException {
    List<Callable<String>> calls = new ArrayList<>();
    for (int doc : docs) {
      calls.add(() -> vector(doc));
    }
    return inParallel(calls, threads).toArray(String[]::new);
  }

  /** How many documents hold each term. */
  public int[] frequencies(String[] terms) throws IOException {
    int[] frequencies = new int[terms.length];
    for (int i = 0; i < terms.length; i++) {
      frequencies[i] = reader.docFreq(new Term(Constants.CONTENTS, terms[i]));
    }
    return frequencies;
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }

  private String vector(int doc) throws IOException {
    StringBuilder lines = new StringBuilder();
    Terms terms = reader.termVectors().get(doc, Constants.CONTENTS);
    if (terms != null) {
      TermsEnum each = terms.iterator();
      for (BytesRef text = each.next(); text != null; text = each.next()) {
        int frequency = reader.docFreq(new Term(Constants.CONTENTS, text));
        lines.append(text.utf8ToString()).append('\t').append(each.totalTermFreq());
        lines.append('\t').append(frequency).append('\n');
      }
    }
    return lines.toString();
  }

  @SuppressWarnings("deprecation") // Lucene 10 wants a manager of collectors; Lucene 9 has none
  private TopDocnos top(IndexSearcher searcher, Query query, int depth) throws IOException {
    TopDocnos best = new TopDocnos(docnos, Math.min(depth, Math.max(1, reader.maxDoc())));
    searcher.search(query, best);
    return best;
  }

  private Map<String, Float> feedback(
      IndexSearcher searcher, Expander method, String text, Query query, int documents)
      throws IOException {
    TopDocnos best = top(searcher, query, documents);
    int[] docs = new int[best.size()];
    float[] scores = new float[best.size()];
    best.drain(docs, scores, 0);
    return estimate(searcher, method, text, query, docs, scores);
  }

  private Map<String, Float> estimate(
      IndexSearcher searcher,
      Expander method,
      String text,
      Query query,
      int[] docs,
      float[] scores)
      throws IOException {
    ScoredDocs feedback = new ScoredDocs();
    feedback.lucene_docids = docs;
    feedback.scores = scores;
    feedback.lucene_documents = new Document[docs.length];
    SearchCollection.Args args = new SearchCollection.Args();
    // Anserini's RM3 also searches; only its query is wanted, so that search is kept small.
    args.hits = 1;
    Either.set(args, "arbitraryScoreTieBreak", true);
    List<String> tokens = AnalyzerUtils.analyze(analysis.analyzer(), text);
    RerankerContext<String> context =
        new RerankerContext<>(searcher, "", query, null, text, tokens, null, args);
    return method.expand(feedback, context);
  }

  private static Query weightedQuery(Map<String, Float> weights) {
    String[] terms = weights.keySet().toArray(String[]::new);
    float[] values = new float[terms.length];
    for (int i = 0; i < terms.length; i++) {
      values[i] = weights.get(terms[i]);
    }
    return weightedQuery(terms, values);
  }

  private static String lines(Map<String, Float> weights) {
    StringBuilder lines = new StringBuilder();
    weights.forEach((term, weight) -> lines.append(term).append('\t').append(weight).append('\n'));
    return lines.toString();
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
