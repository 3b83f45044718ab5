"""What is made of a client and of dicts: derived clients, calls that are refused before they are sent, inputs and models as dicts."""

import contextlib
import json

import httpx
from content_gateway import ContentGateway, UnexpectedReplyError, UsageError, models
from servers import Gateway, connections, seen, serve

API_KEY = "cgk_variants"
here = f"http://127.0.0.1:{serve(Gateway)}"

# A client that is derived from another shares its connections, which end with the other's alone.
with ContentGateway(here, API_KEY, headers={"X-First": "1"}, app_name="first") as gateway:
    gateway.call("game.getNewest")
    derived = gateway.with_options(api_key="", headers={"X-Second": "2"}, app_name="second/2")
    derived.call("game.getNewest")
    derived.close()
    gateway.call("game.getNewest")
    assert connections == ["gateway"]
    first, second, third = (headers for _, _, headers, _ in seen)
    assert first["authorization"] == third["authorization"] == f"Bearer {API_KEY}"
    assert "authorization" not in second
    assert (second["x-first"], second["x-second"], "x-second" in third) == ("1", "2", False)
    assert [headers["user-agent"].split(") ")[1] for headers in (first, second)] == ["first", "second/2"]

    # It may call another service.
    elsewhere = serve(Gateway)
    gateway.with_options(base_url=f"http://127.0.0.1:{elsewhere}/below/").call("game.getNewest")
    path, sent_headers = seen[-1][1], seen[-1][2]
    assert path == "/below/api/trpc/game.getNewest", path
    assert sent_headers["host"] == f"127.0.0.1:{elsewhere}"

    # What is wrong is said before anything is sent.
    sent = len(seen)
    for wrong in (
        lambda: gateway.call("game"),
        lambda: gateway.call("game.a/../b"),
        lambda: gateway.game.list_all(max_records=0),
        lambda: gateway.with_options(app_name="my app"),
        lambda: gateway.with_options(api_key="a\n"),
        lambda: gateway.with_options(timeout=0),
        lambda: gateway.with_options(base_url="ftp://example.com"),
    ):
        try:
            wrong()
        except ValueError:
            continue
        raise AssertionError("a usage error is missing")
    assert len(seen) == sent

    # A dict is sent as its class is, and with what the class has not, not at all.
    with contextlib.suppress(UnexpectedReplyError):
        gateway.game.batch_create([{"title": "a", "extra_info": {"file_size": "1GB"}}])
    with contextlib.suppress(UnexpectedReplyError):
        extra_info = models.ExtraInfoInput(file_size="1GB")
        gateway.game.batch_create([models.GameInput(title="a", extra_info=extra_info)])
    by_dict, by_class = (body for *_, body in seen[-2:])
    assert by_dict == by_class == {"json": {"games": [{"title": "a", "extraInfo": {"fileSize": "1GB"}}]}}
    try:
        gateway.game.batch_create([{"title": "a", "fileSize": "1GB"}])  # type: ignore[list-item]
    except UsageError as error:
        assert "fileSize" in str(error)
    else:
        raise AssertionError("a name of no member is taken")

info = models.ExtraInfoInput(file_size="1GB", downloads=[models.DownloadInput(name="b", url="c")])
assert info.to_dict() == {"fileSize": "1GB", "downloads": [{"name": "b", "url": "c"}]}
assert json.loads(info.to_json()) == info.to_dict()

# Wherever a reply ends too early, also within a number or a character, its JSON is cut off.
whole = '{"result":{"data":{"json":{"title":"星\\u661f","views":-1.5e+3,"free":true,"tags":[{},null]}}}}'.encode()
for length in range(1, len(whole)):
    reply = httpx.Response(200, content=whole[:length], headers={"Content-Type": "application/json"})
    cut = httpx.Client(transport=httpx.MockTransport(lambda _, reply=reply: reply))
    try:
        ContentGateway(here, http_client=cut, max_retries=0).call("game.getNewest")
    except UnexpectedReplyError as error:
        assert "whose JSON is cut off" in str(error), (whole[:length], error)
    else:
        raise AssertionError(f"{length} bytes are read as the whole")
