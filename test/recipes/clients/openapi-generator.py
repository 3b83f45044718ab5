import os

from openapi_client import ApiClient, Configuration, GameApi, GameCreateRequest, GameGetByIdRequest

configuration = Configuration(host=os.environ["GATEWAY_URL"], access_token=os.environ["GATEWAY_KEY"])
with ApiClient(configuration) as client:
    games = GameApi(client)
    made = games.game_create(GameCreateRequest.from_dict({"json": {"title": "星の伝説"}})).result.data.var_json
    read = games.game_get_by_id(GameGetByIdRequest.from_dict({"json": {"id": made.id}})).result.data.var_json
    print(read.title)
