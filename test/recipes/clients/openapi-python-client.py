import os

from content_gateway_client import AuthenticatedClient
from content_gateway_client.api.game import game_create, game_get_by_id
from content_gateway_client.models import GameCreateReply, GameCreateRequest, GameGetByIdInput, GameGetByIdReply
from content_gateway_client.models import GameGetByIdRequest, GameInput

client = AuthenticatedClient(base_url=os.environ["GATEWAY_URL"], token=os.environ["GATEWAY_KEY"])
made = game_create.sync(client=client, body=GameCreateRequest(GameInput(title="星の伝説")))
assert isinstance(made, GameCreateReply)
wanted = GameGetByIdInput(id=made.result.data.json.id)
read = game_get_by_id.sync(client=client, body=GameGetByIdRequest(wanted))
assert isinstance(read, GameGetByIdReply)
print(read.result.data.json.title)
