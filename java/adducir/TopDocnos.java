package adducir;

import java.io.IOException;
import java.util.Arrays;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.Collector;
import org.apache.lucene.search.LeafCollector;
import org.apache.lucene.search.Scorable;
import org.apache.lucene.search.ScoreMode;

/**
 * Collects the best documents by score (descending), then docno (ascending): Anserini's order, but
 * with whole scores and without reading a docno unless two scores are equal.
 */
final class TopDocnos implements Collector {
  private static final int FIRST = 1024;

  private final Docnos docnos;
  private final int depth;
  private int[] docs;
  private float[] scores;
  private int size;

  TopDocnos(Docnos docnos, int depth) {
    this.docnos = docnos;
    this.depth = depth;
    // Most queries have few hits, whatever depth is asked for.
    this.docs = new int[Math.min(depth, FIRST)];
    this.scores = new float[docs.length];
  }

  @Override
  public ScoreMode scoreMode() {
    return ScoreMode.TOP_SCORES;
  }

  @Override
  public LeafCollector getLeafCollector(LeafReaderContext leaf) {
    final int base = leaf.docBase;
    return new LeafCollector() {
      private Scorable scorer;

      @Override
      public void setScorer(Scorable scorer) throws IOException {
        this.scorer = scorer;
        raiseBar();
      }

      @Override
      public void collect(int doc) throws IOException {
        if (offer(base + doc, scorer.score())) {
          raiseBar();
        }
      }

      private void raiseBar() throws IOException {
        // Documents that tie with the worst kept one must still be seen: their docno decides.
        if (size == depth) {
          scorer.setMinCompetitiveScore(scores[0]);
        }
      }
    };
  }

  /** Empties the heap into the arrays, best first, from {@code start} on; returns how many. */
  int drain(int[] outDocs, float[] outScores, int start) {
    int count = size;
    for (int i = start + count - 1; i >= start; i--) {
      outDocs[i] = docs[0];
      outScores[i] = scores[0];
      size--;
      docs[0] = docs[size];
      scores[0] = scores[size];
      sink(0);
    }
    return count;
  }

  int size() {
    return size;
  }

  /** Returns whether the heap is full and its worst entry changed. */
  private boolean offer(int doc, float score) {
    if (size < depth) {
      if (size == docs.length) {
        int larger = (int) Math.min(depth, 2L * size);
        docs = Arrays.copyOf(docs, larger);
        scores = Arrays.copyOf(scores, larger);
      }
      docs[size] = doc;
      scores[size] = score;
      rise(size++);
      return size == depth;
    }
    if (!worse(docs[0], scores[0], doc, score)) {
      return false;
    }
    docs[0] = doc;
    scores[0] = score;
    sink(0);
    return true;
  }

  private boolean worse(int doc, float score, int otherDoc, float otherScore) {
    return score < otherScore
        || (score == otherScore && docnos.compare(doc, otherDoc) > 0);
  }

  private void rise(int child) {
    while (child > 0) {
      int parent = (child - 1) >>> 1;
      if (!worse(docs[child], scores[child], docs[parent], scores[parent])) {
        return;
      }
      swap(child, parent);
      child = parent;
    }
  }

  private void sink(int parent) {
    for (int child = 2 * parent + 1; child < size; child = 2 * parent + 1) {
      int right = child + 1;
      if (right < size && worse(docs[right], scores[right], docs[child], scores[child])) {
        child = right;
      }
      if (!worse(docs[child], scores[child], docs[parent], scores[parent])) {
        return;
      }
      swap(child, parent);
      parent = child;
    }
  }

  private void swap(int one, int other) {
    int doc = docs[one];
    docs[one] = docs[other];
    docs[other] = doc;
    float score = scores[one];
    scores[one] = scores[other];
    scores[other] = score;
  }
}
