package adducir;

import io.anserini.analysis.AnalyzerUtils;
import io.anserini.analysis.DefaultEnglishAnalyzer;
import java.io.IOException;
import java.util.StringJoiner;
import org.apache.lucene.analysis.Analyzer;

/** Text to terms, exactly as Anserini does it, many texts in one call. */
public final class Analysis {
  private final Analyzer analyzer;

  /**
   * @param stemmer "porter", "krovetz" or "none"
   * @param keepStopwords whether stop words stay in
   * @param stopwords a file with one stop word a line, or null for Lucene's 33
   */
  public Analysis(String stemmer, boolean keepStopwords, String stopwords) throws IOException {
    this.analyzer = DefaultEnglishAnalyzer.fromArguments(stemmer, keepStopwords, stopwords);
  }

  Analyzer analyzer() {
    return analyzer;
  }

  /** The terms of each text, joined by one blank (no term holds white space). */
  public String[] terms(String[] texts) {
    String[] analyzed = new String[texts.length];
    for (int i = 0; i < texts.length; i++) {
      StringJoiner joined = new StringJoiner(" ");
      AnalyzerUtils.analyze(analyzer, texts[i]).forEach(joined::add);
      analyzed[i] = joined.toString();
    }
    return analyzed;
  }
}
