package adducir;

import io.anserini.analysis.AnalyzerUtils;
import java.util.StringJoiner;
import org.apache.lucene.analysis.Analyzer;

/** Text to terms, exactly as Anserini does it, many texts in one call. */
public final class Analysis {
  private final Analyzer analyzer;

  /** Analyses as {@code analyzer} does. */
  public Analysis(Analyzer analyzer) {
    this.analyzer = analyzer;
  }

  Analyzer analyzer() {
    return analyzer;
  }

  /** The terms of each text, joined by line feeds. (Polish lemmas may hold blanks.) */
  public String[] terms(String[] texts) {
    String[] analyzed = new String[texts.length];
    for (int i = 0; i < texts.length; i++) {
      StringJoiner joined = new StringJoiner("\n");
      AnalyzerUtils.analyze(analyzer, texts[i]).forEach(joined::add);
      analyzed[i] = joined.toString();
    }
    return analyzed;
  }
}
