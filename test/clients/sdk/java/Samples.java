import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;

/** Runs programs one after the other, given a folder and their names. What GameCreate prints goes to GameCreate.out in there. */
final class Samples {
  private Samples() {}

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    for (String name : List.of(arguments).subList(1, arguments.length)) {
      var main = Class.forName(name).getDeclaredMethod("main", String[].class);
      // A class that isn't public: java starts it all the same.
      main.setAccessible(true);
      try (var output = new PrintStream(folder.resolve(name + ".out").toFile(), "UTF-8")) {
        System.setOut(output);
        main.invoke(null, (Object) new String[0]);
      }
    }
  }
}
