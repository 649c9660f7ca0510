package adducir;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArrayMap;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.KeywordTokenizer;
import org.apache.lucene.analysis.en.KStemFilter;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

/**
 * Text to numbered terms, many documents in one call: the analysis of each distinct piece of text
 * between blanks, once, where the language allows it.
 *
 * <p>In most languages no token reaches over a blank, and the tokeniser begins anew behind one, so
 * the tokens of a text are those of its pieces. The filters and the stemmer see one token at a time.
 * Any number of threads may call {@link #analyze}; a term keeps its number for the life of the
 * object.
 */
public final class BulkTokens {
  /** A text with a longer piece is analysed whole: it has few blanks, or none. */
  private static final int LONG = 200;

  private static final int MOST_WORDS = 1 << 17;

  private final Analyzer words;
  private final Analyzer stemmer;
  private final boolean piecewise;
  private final Map<String, Integer> numbers = new HashMap<>();
  private final List<String> terms = new ArrayList<>();
  /**
   * Those that no thread uses. Threads of Python come and go; what a thread-local kept for each
   * would stay for the life of the machine.
   */
  private final ConcurrentLinkedDeque<Worker> idle = new ConcurrentLinkedDeque<>();

  /**
   * @param words makes words of a text
   * @param stemmer "porter" or "krovetz" makes terms of words; with "none" they are the terms
   * @param piecewise whether a text may be analysed piece by piece
   */
  public BulkTokens(Analyzer words, String stemmer, boolean piecewise) {
    this.words = words;
    this.stemmer = stemmer.equals("none") ? null : oneWord(stemmer);
    this.piecewise = piecewise;
  }

  /**
   * Analyses a block of texts.
   *
   * @param block for each text its length in bytes (int, little endian) and the text, UTF-8
   * @return for each text the number of its tokens, and then all tokens' term numbers (int, little
   *     endian)
   */
  public byte[] analyze(byte[] block) throws IOException {
    Worker free = idle.pollFirst();
    Worker worker = free == null ? new Worker() : free;
    try {
      return worker.analyze(block);
    } finally {
      idle.addFirst(worker);
    }
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

  /** What one thread at a time uses. */
  private final class Worker {
    private final SeenChunks chunks = new SeenChunks();
    private final CharArrayMap<Integer> seen = new CharArrayMap<>(1 << 10, false);
    private int[] tokens = new int[1 << 16];
    private int total;

    byte[] analyze(byte[] block) throws IOException {
      ByteBuffer lengths = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
      total = 0;
      int[] counts = new int[64];
      int texts = 0;
      for (int position = 0; position < block.length; ) {
        int end = position + Integer.BYTES + lengths.getInt(position);
        int before = total;
        text(block, position + Integer.BYTES, end);
        position = end;
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

    /** Append the tokens of {@code block[from, to)}. */
    void text(byte[] block, int from, int to) throws IOException {
      if (!piecewise) {
        whole(block, from, to);
        return;
      }
      int before = total;
      for (int start = from; start < to; ) {
        int end = start;
        int hash = 0;
        for (; end < to && !isBlank(block[end]); end++) {
          hash = 31 * hash + block[end];
        }
        if (end - start > LONG) {
          total = before;
          whole(block, from, to);
          return;
        }
        if (end > start) {
          chunk(block, start, end, hash);
        }
        start = end + 1;
      }
    }

    private void chunk(byte[] block, int from, int to, int hash) throws IOException {
      int entry = chunks.find(block, from, to, hash);
      if (entry < 0) {
        int first = total;
        whole(block, from, to);
        chunks.keep(block, from, to, hash, tokens, first, total);
        return;
      }
      int[] known = chunks.terms();
      for (int place = chunks.termStart(entry); place < chunks.termStart(entry + 1); place++) {
        add(known[place]);
      }
    }

    private void whole(byte[] block, int from, int to) throws IOException {
      String text = new String(block, from, to - from, StandardCharsets.UTF_8);
      try (TokenStream stream = words.tokenStream("", text)) {
        CharTermAttribute word = stream.getAttribute(CharTermAttribute.class);
        stream.reset();
        while (stream.incrementToken()) {
          Integer number = seen.get(word.buffer(), 0, word.length());
          if (number == null) {
            number = numberOf(word.toString());
            if (seen.size() < MOST_WORDS) {
              seen.put(word.toString(), number);
            }
          }
          add(number);
        }
        stream.end();
      }
    }

    private void add(int number) {
      if (total == tokens.length) {
        tokens = Arrays.copyOf(tokens, 2 * total);
      }
      tokens[total++] = number;
    }
  }

  private static boolean isBlank(byte one) {
    return one == ' ' || one == '\n' || one == '\t' || one == '\r';
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
