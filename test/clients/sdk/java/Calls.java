import com.example.contentgateway.ApiResponse;
import com.example.contentgateway.GameListPage;
import com.example.contentgateway.model.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

/** What vectors call, by one form of the client or the other. */
interface Calls {
  ApiResponse<Game> getById(GameGetByIdInput input) throws Exception;

  /** The same, given the only member of its input. */
  ApiResponse<Game> getById(String id) throws Exception;

  /** Given the only member that its input must have. */
  ApiResponse<GameGetRelatedOutput> getRelated(String gameId) throws Exception;

  ApiResponse<Game> create(GameInput input) throws Exception;

  ApiResponse<GameListPage> list(GameListInput input) throws Exception;

  ApiResponse<UserSearchOutput> search(String query) throws Exception;

  ApiResponse<CurrentUser> me() throws Exception;

  /** Any operation, by its name. */
  ApiResponse<JsonNode> call(String operation, JsonNode input) throws Exception;

  /** Page after page, by the iterator over them, until there are so many records. */
  void eachPage(GameListInput input, int take, ArrayNode ids) throws Exception;

  /** Page after page, by their own methods. */
  void pages(GameListInput input, ArrayNode ids) throws Exception;

  /** Events by {@code tail} or {@code follow}, at most so many. */
  void events(String form, JsonNode input, int take, ArrayNode ids) throws Exception;

  /** All records, at most so many. */
  void all(GameListInput input, int take, ArrayNode ids) throws Exception;
}
