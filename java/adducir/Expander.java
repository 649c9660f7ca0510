package adducir;

import io.anserini.index.Constants;
import io.anserini.rerank.RerankerContext;
import io.anserini.rerank.lib.BM25PrfReranker;
import io.anserini.rerank.lib.Rm3Reranker;
import io.anserini.search.ScoredDocs;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.index.IndexReader;

/** What a feedback method of Anserini's makes of a query and its best documents. */
interface Expander {
  /** The terms of the new query and their weights. */
  Map<String, Float> expand(ScoredDocs feedback, RerankerContext<String> context)
      throws IOException;

  /**
   * RM3.
   *
   * @param plain whether feedback terms must match {@code [a-z0-9]+}, Anserini's default
   */
  static Expander rm3(
      Analyzer analyzer, int terms, int documents, float originalQueryWeight, boolean plain) {
    Rm3Reranker<String> method =
        new Rm3Reranker<>(
            analyzer, null, Constants.CONTENTS, terms, documents, originalQueryWeight, false, plain);
    return (feedback, context) -> {
      method.rerank(feedback, context);
      return context.feedbackTerms;
    };
  }

  /** BM25PRF, whose class keeps its terms to itself. */
  static Expander bm25prf(
      Analyzer analyzer, int terms, int documents, float k1, float b, float newTermWeight) {
    BM25PrfReranker<String> method =
        new BM25PrfReranker<>(
            analyzer, null, Constants.CONTENTS, terms, documents, k1, b, newTermWeight, false);
    return (feedback, context) -> {
      try {
        Method expand =
            BM25PrfReranker.class.getDeclaredMethod(
                "expandQuery", List.class, ScoredDocs.class, IndexReader.class, boolean.class);
        expand.setAccessible(true);
        IndexReader reader = context.getIndexSearcher().getIndexReader();
        Object features =
            expand.invoke(method, context.getQueryTokens(), feedback, reader, false);
        Field byTerm = features.getClass().getDeclaredField("features");
        byTerm.setAccessible(true);
        Map<String, Float> weights = new HashMap<>();
        ((Map<?, ?>) byTerm.get(features))
            .forEach(
                (term, feature) ->
                    weights.put(
                        (String) term, (float) (double) Either.call(feature, "getRelWeight")));
        return weights;
      } catch (ReflectiveOperationException changed) {
        throw new IOException(changed);
      }
    };
  }
}
