package adducir;

/** What Lucene 9 and Lucene 10, or Anserini 1 and Anserini 2, call by different names. */
final class Either {
  private Either() {}

  /** Calls the method without arguments that the object has of these names. */
  static Object call(Object of, String... names) {
    for (String name : names) {
      try {
        var method = of.getClass().getDeclaredMethod(name);
        method.setAccessible(true);
        return method.invoke(of);
      } catch (NoSuchMethodException other) {
        continue;
      } catch (ReflectiveOperationException failed) {
        throw new IllegalStateException(failed);
      }
    }
    throw new IllegalStateException("none of " + String.join(", ", names));
  }
}
