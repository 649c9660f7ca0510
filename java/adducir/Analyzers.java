package adducir;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.custom.CustomAnalyzer;
import org.apache.lucene.analysis.ja.JapaneseAnalyzer;
import org.apache.lucene.analysis.ja.JapaneseTokenizer;

/** Lucene's analysers of languages, by the names of their classes. */
public final class Analyzers {
  private Analyzers() {}

  /**
   * A new analyser, tried: some need parts of Java that a small run-time lacks.
   *
   * @param name the full name of a class of Lucene
   * @param stopwords in place of Lucene's; null for these
   */
  public static Analyzer lucene(String name, String[] stopwords)
      throws ReflectiveOperationException, IOException {
    return tried(make(name, stopwords));
  }

  /**
   * A new analyser of Lucene's parts by name.
   *
   * @param parts a tokeniser and any number of filters, each a name that Lucene registers and
   *     perhaps settings behind blanks: "snowballPorter language=German2"
   */
  public static Analyzer chain(String[] parts) throws IOException {
    CustomAnalyzer.Builder builder = CustomAnalyzer.builder();
    for (int i = 0; i < parts.length; i++) {
      String[] words = parts[i].split(" ");
      Map<String, String> settings = new HashMap<>();
      for (int j = 1; j < words.length; j++) {
        String[] pair = words[j].split("=", 2);
        settings.put(pair[0], pair[pair.length - 1]);
      }
      if (i == 0) {
        builder.withTokenizer(words[0], settings);
      } else {
        builder.addTokenFilter(words[0], settings);
      }
    }
    return tried(builder.build());
  }

  private static Analyzer tried(Analyzer analyzer) throws IOException {
    try (TokenStream stream = analyzer.tokenStream("", "")) {
      stream.reset();
      stream.end();
    }
    return analyzer;
  }

  private static Analyzer make(String name, String[] stopwords)
      throws ReflectiveOperationException {
    Class<? extends Analyzer> type = Class.forName(name).asSubclass(Analyzer.class);
    if (stopwords == null) {
      return type.getConstructor().newInstance();
    }
    CharArraySet words = new CharArraySet(Arrays.asList(stopwords), true);
    if (type == JapaneseAnalyzer.class) {
      // The tags are parts of speech to leave out, which belong to Lucene's stop words.
      Set<String> tags = words.isEmpty() ? Set.of() : JapaneseAnalyzer.getDefaultStopTags();
      return new JapaneseAnalyzer(null, JapaneseTokenizer.DEFAULT_MODE, words, tags);
    }
    return type.getConstructor(CharArraySet.class).newInstance(words);
  }
}
