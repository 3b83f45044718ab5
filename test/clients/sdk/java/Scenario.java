import com.example.contentgateway.ApiException;
import com.example.contentgateway.CallOptions;
import com.example.contentgateway.ContentGateway;
import com.example.contentgateway.NotFoundException;
import com.example.contentgateway.model.*;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

final class Scenario {
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  public static void main(String[] args) {
    var gateway = new ContentGateway();
    var anyone = ContentGateway.builder().apiKey("").build();
    var reader = ContentGateway.builder().apiKey(System.getenv("GATEWAY_READ_KEY")).build();

    CurrentUser me = gateway.user().me();
    out.printf("me: %s, may %s%n", me.getNickname(), join(me.getApiKey().getScopes(), ", ", Scope::value));

    GameListOutput empty = anyone.game().list(new GameListInput().limit(20).page(1));
    out.printf("list: %d of %d%n", empty.getItems().size(), empty.getTotal());

    Game created =
        gateway
            .game()
            .create(
                new GameInput()
                    .title("星の伝説 〜𠮷野の丘〜")
                    .description("失われた星を探す。")
                    .gameType("RPG")
                    .tagNames(List.of("ファンタジー", "Dragons", "长篇"))
                    .extraInfo(
                        new ExtraInfoInput()
                            .originalAuthor("青い丘工房")
                            .downloads(
                                List.of(
                                    new DownloadInput()
                                        .name("Mirror 1")
                                        .url("https://files.example.com/hoshi.zip")))));
    out.printf("create: %s, %s, tagged %s%n", created.getTitle(), created.getGameType(), join(created.getTags(), ", ", Tag::getName));

    Game read = anyone.game().getById(new GameGetByIdInput().id(created.getId()));
    ExtraInfo extra = read.getExtraInfo();
    out.printf("read: %s By %s, from %s%n", read.getDescription(), extra.getOriginalAuthor(), join(extra.getDownloads(), ", ", Download::getName));

    for (int turn = 0; turn < 2; turn++) {
      var favorite = gateway.game().toggleFavorite(new GameToggleFavoriteInput().gameId(created.getId()));
      out.printf("favorite: %b, %d%n", favorite.getFavorited(), favorite.getFavoriteCount());
    }

    var titles = List.of("一の巻", "二の巻", "三の巻");
    var games = titles.stream().map(title -> new GameInput().title(title)).toList();
    var batch = gateway.game().batchCreate(new GameBatchCreateInput().games(games));
    out.printf("batch: %s%n", join(batch.getItems(), ", ", Game::getTitle));

    var search = new GameListInput().limit(20).page(1).search("巻").sortBy(GameSort.OLDEST);
    GameListOutput found = anyone.game().list(search);
    out.printf("search 巻: %d of %d%n", found.getItems().size(), found.getTotal());

    var walked = anyone.game().listAll(new GameListInput().limit(2).search("巻").sortBy(GameSort.OLDEST));
    out.printf("walk 巻: %s%n", walked.stream().map(GameSummary::getTitle).collect(Collectors.joining(", ")));

    var named = new CallOptions().header("X-Request-Id", "scenario");
    var reply = anyone.game().withResponse().getById(new GameGetByIdInput().id(created.getId()), named);
    out.printf("reply: %d to %s, attempts %d%n", reply.status(), reply.requestId().orElseThrow(), reply.attempts());

    ImagePost post =
        gateway
            .image()
            .create(
                new ImagePostInput()
                    .title("路地裏")
                    .images(List.of("https://images.example.com/rain.webp"))
                    .description("雨の夜"));
    out.printf("describe: %s%n", post.getDescription());

    ImagePost cleared = gateway.image().update(new ImageUpdateInput().id(post.getId()).description(null));
    out.printf("clear: %s%n", cleared.getDescription() == null ? "none" : cleared.getDescription());

    var once = new CallOptions().idempotencyKey("scenario");
    Game first = gateway.game().create(new GameInput().title("一度きり"), once);
    Game again = gateway.game().create(new GameInput().title("一度きり"), once);
    out.printf("again: %s, %s%n", again.getTitle(), again.getId().equals(first.getId()) ? "the same" : "another");

    refused(() -> gateway.game().create(new GameInput().title("").coverUrl("cover")));
    refused(() -> gateway.game().create(new GameInput().title("二度目"), once));
    refused(() -> anyone.game().create(new GameInput().title("無名")));
    refused(() -> reader.game().create(new GameInput().title("読者")));
    refused(() -> anyone.game().getById(new GameGetByIdInput().id("nothing")));
    try {
      anyone.game().getById(new GameGetByIdInput().id("nothing"), named);
    } catch (NotFoundException error) {
      out.println(error.getMessage());
    }
  }

  private static void refused(Runnable call) {
    try {
      call.run();
    } catch (ApiException error) {
      String issues =
          join(error.issues(), "; ", issue -> issue.getPath() + " " + issue.getCode() + " " + issue.getMessage());
      out.printf("%d %s%s%n", error.status(), error.reason().orElseThrow(), issues.isEmpty() ? "" : ": " + issues);
      return;
    }
    out.println("not refused");
  }

  private static <T> String join(Collection<T> items, String separator, Function<T, String> text) {
    return items.stream().map(text).collect(Collectors.joining(separator));
  }
}
