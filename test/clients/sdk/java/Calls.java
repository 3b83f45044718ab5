import com.example.contentgateway.ApiResponse;
import com.example.contentgateway.GameListPage;
import com.example.contentgateway.model.*;
import com.fasterxml.jackson.databind.node.ArrayNode;

/** What vectors call, by one form of the client or the other. */
interface Calls {
  ApiResponse<Game> getById(GameGetByIdInput input) throws Exception;

  ApiResponse<Game> create(GameInput input) throws Exception;

  ApiResponse<GameListPage> list(GameListInput input) throws Exception;

  ApiResponse<CurrentUser> me() throws Exception;

  /** Page after page, by their own methods. */
  void pages(GameListInput input, ArrayNode ids) throws Exception;

  /** All records, at most so many. */
  void all(GameListInput input, int take, ArrayNode ids) throws Exception;
}
