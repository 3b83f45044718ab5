import java.io.PrintStream;
import java.nio.file.Path;

/** Runs programs, given the files with their sources, one after the other. What GameCreate prints goes to GameCreate.out beside. */
final class Samples {
  private Samples() {}

  public static void main(String[] files) throws Exception {
    for (String file : files) {
      Path source = Path.of(file);
      String name = source.getFileName().toString().replace(".java", "");
      var main = Class.forName(name).getDeclaredMethod("main", String[].class);
      // A class that isn't public: java starts it all the same.
      main.setAccessible(true);
      try (var output = new PrintStream(source.resolveSibling(name + ".out").toFile(), "UTF-8")) {
        System.setOut(output);
        main.invoke(null, (Object) new String[0]);
      }
    }
  }
}
