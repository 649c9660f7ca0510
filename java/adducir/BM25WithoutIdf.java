package adducir;

import org.apache.lucene.search.similarities.BM25Similarity;

/** BM25 for queries whose weights stand in place of the idf. */
public final class BM25WithoutIdf extends BM25Similarity {
  public BM25WithoutIdf(float k1, float b) {
    super(k1, b);
  }

  @Override
  protected float idf(long docFreq, long docCount) {
    return 1;
  }
}
