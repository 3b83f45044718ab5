import com.example.contentgateway.ContentGateway;
import com.example.contentgateway.NotFoundException;
import com.example.contentgateway.model.*;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** Prints what corrections.txt holds: an author changes and deletes what it published. Null clears; what isn't set stays. */
final class Corrections {
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final ContentGateway gateway = new ContentGateway();

  public static void main(String[] args) {
    var extraInfo = new ExtraInfoInput().originalAuthor("青い丘工房").fileSize("1.5GB").platforms(List.of("Windows"));
    var input = new GameInput().title("書き間違い").version("Ver1.0").isFree(false).extraInfo(extraInfo);
    Game game = gateway.game().create(input);
    show("create", game);

    var cleared = new ExtraInfoUpdateInput().originalAuthor(null).platforms(List.of());
    var clear = new GameUpdateInput().id(game.getId()).title("直した題").version(null).extraInfo(cleared);
    show("clear", gateway.game().update(clear));
    var set = new ExtraInfoUpdateInput().originalAuthor("赤い丘工房");
    show("set", gateway.game().update(new GameUpdateInput().id(game.getId()).extraInfo(set)));

    String author = game.getAuthor().getId();
    listOf(author);
    deleteTwice(game.getId(), id -> gateway.game().delete(id).getId());
    listOf(author);
    var images = List.of("https://images.example.com/rain.webp");
    ImagePost post = gateway.image().create(new ImagePostInput().title("路地裏").images(images));
    deleteTwice(post.getId(), id -> gateway.image().delete(id).getId());
  }

  private static void show(String step, Game game) {
    ExtraInfo extra = game.getExtraInfo();
    String platform = extra.getPlatforms().isEmpty() ? "none" : extra.getPlatforms().get(0);
    String version = Objects.requireNonNullElse(game.getVersion(), "none");
    String author = Objects.requireNonNullElse(extra.getOriginalAuthor(), "none");
    out.printf("%s: %s, %s, by %s, %s, on %s, free: %b%n", step, game.getTitle(), version, author, extra.getFileSize(), platform, game.getIsFree());
  }

  private static void listOf(String author) {
    var items = gateway.game().list(new GameListInput().authorId(author)).getItems();
    String titles = items.stream().map(GameSummary::getTitle).collect(Collectors.joining(", "));
    out.printf("by author: %s%n", titles.isEmpty() ? "none" : titles);
  }

  private static void deleteTwice(String id, UnaryOperator<String> delete) {
    String gone = delete.apply(id);
    try {
      delete.apply(id);
    } catch (NotFoundException error) {
      String same = gone.equals(id) ? "the same" : "another";
      out.printf("delete: %s, then %d %s%n", same, error.status(), error.reason().orElseThrow());
    }
  }
}
