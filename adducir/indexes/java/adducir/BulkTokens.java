package adducir;

import io.anserini.analysis.DefaultEnglishAnalyzer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArrayMap;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.KeywordTokenizer;
import org.apache.lucene.analysis.en.KStemFilter;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

/**
 * Text to numbered terms, many documents in one call: Anserini's analysis, stemming each distinct
 * word once.
 *
 * <p>The stemmer is the last filter of Anserini's analyzer and sees one word at a time, so the
 * term of a word that has been seen is looked up instead of made again. Any number of threads may
 * call {@link #analyze}; a term keeps its number for the life of the object.
 */
public final class BulkTokens {
  private final Analyzer words;
  private final Analyzer stemmer;
  private final Map<String, Integer> numbers = new HashMap<>();
  private final List<String> terms = new ArrayList<>();
  private final ThreadLocal<CharArrayMap<Integer>> known =
      ThreadLocal.withInitial(() -> new CharArrayMap<>(1 << 16, false));

  /** See {@link Analysis} for the arguments. */
  public BulkTokens(String stemmer, boolean keepStopwords, String stopwords) throws IOException {
    this.words = DefaultEnglishAnalyzer.fromArguments("none", keepStopwords, stopwords);
    this.stemmer = stemmer.equals("none") ? null : oneWord(stemmer);
  }

  /**
   * Analyses a block of texts.
   *
   * @param block for each text its length in bytes (int, little endian) and the text, UTF-8
   * @return for each text the number of its tokens, and then all tokens' term numbers (int, little
   *     endian)
   */
  public byte[] analyze(byte[] block) throws IOException {
    ByteBuffer lengths = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
    CharArrayMap<Integer> seen = known.get();
    int[] counts = new int[64];
    int[] tokens = new int[block.length / 6 + 64];
    int texts = 0;
    int total = 0;
    for (int position = 0; position < block.length; ) {
      int length = lengths.getInt(position);
      position += Integer.BYTES;
      String text = new String(block, position, length, StandardCharsets.UTF_8);
      position += length;
      int before = total;
      try (TokenStream stream = words.tokenStream("", text)) {
        CharTermAttribute word = stream.getAttribute(CharTermAttribute.class);
        stream.reset();
        while (stream.incrementToken()) {
          Integer number = seen.get(word.buffer(), 0, word.length());
          if (number == null) {
            number = numberOf(word.toString());
            seen.put(word.toString(), number);
          }
          if (total == tokens.length) {
            tokens = Arrays.copyOf(tokens, 2 * total);
          }
          tokens[total++] = number;
        }
        stream.end();
      }
      if (texts == counts.length) {
        counts = Arrays.copyOf(counts, 2 * texts);
      }
      counts[texts++] = total - before;
    }
    ByteBuffer packed =
        ByteBuffer.allocate(Integer.BYTES * (texts + total)).order(ByteOrder.LITTLE_ENDIAN);
    packed.asIntBuffer().put(counts, 0, texts).put(tokens, 0, total);
    return packed.array();
  }

  /** The terms from number {@code first} on, each ended by a line feed, UTF-8. */
  public byte[] terms(int first) {
    synchronized (numbers) {
      StringBuilder joined = new StringBuilder();
      for (String term : terms.subList(first, terms.size())) {
        joined.append(term).append('\n');
      }
      return joined.toString().getBytes(StandardCharsets.UTF_8);
    }
  }

  private Integer numberOf(String word) throws IOException {
    synchronized (numbers) {
      String term = stemmer == null ? word : stemmed(word);
      Integer number = numbers.get(term);
      if (number == null) {
        number = terms.size();
        numbers.put(term, number);
        terms.add(term);
      }
      return number;
    }
  }

  private String stemmed(String word) throws IOException {
    try (TokenStream stream = stemmer.tokenStream("", word)) {
      CharTermAttribute term = stream.getAttribute(CharTermAttribute.class);
      stream.reset();
      stream.incrementToken();
      String found = term.toString();
      stream.end();
      return found;
    }
  }

  private static Analyzer oneWord(String stemmer) {
    return new Analyzer() {
      @Override
      protected TokenStreamComponents createComponents(String field) {
        KeywordTokenizer word = new KeywordTokenizer(1024);
        return new TokenStreamComponents(
            word, stemmer.equals("krovetz") ? new KStemFilter(word) : new PorterStemFilter(word));
      }
    };
  }
}
