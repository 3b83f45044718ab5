import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from content_gateway import ApiError, AsyncContentGateway, ContentGateway
from content_gateway.models import DownloadInput, ExtraInfoInput, GameInput

gateway = ContentGateway()
anyone = ContentGateway(api_key="")
reader = ContentGateway(api_key=os.environ["GATEWAY_READ_KEY"])

me = gateway.user.me()
print(f"me: {me.nickname}, may {', '.join(me.api_key.scopes)}")

empty = anyone.game.list(limit=20, page=1)
print(f"list: {len(empty.items)} of {empty.total}")

created = gateway.game.create(
    title="星の伝説 〜𠮷野の丘〜",
    description="失われた星を探す。",
    game_type="RPG",
    tag_names=["ファンタジー", "Dragons", "长篇"],
    extra_info=ExtraInfoInput(
        original_author="青い丘工房",
        downloads=[DownloadInput(name="Mirror 1", url="https://files.example.com/hoshi.zip")],
    ),
)
print(f"create: {created.title}, {created.game_type}, tagged {', '.join(tag.name for tag in created.tags)}")

read = anyone.game.get_by_id(id=created.id)
mirrors = ", ".join(download.name for download in read.extra_info.downloads)
print(f"read: {read.description} By {read.extra_info.original_author}, from {mirrors}")


# More calls at once than there are connections: each waits for its turn, and its time begins then.
async def crowd() -> None:
    async with AsyncContentGateway(api_key="", timeout=5) as everyone:
        games = await asyncio.gather(*(everyone.game.get_by_id(id=created.id) for _ in range(1000)))
    assert {game.id for game in games} == {created.id}


# That is the pool's business, whatever the service and the document: once is enough.
if "SCENARIO_CROWD" in os.environ:
    asyncio.run(crowd())
    with ThreadPoolExecutor(200) as threads:
        ids = threads.map(lambda _: anyone.game.get_by_id(id=created.id).id, range(400))
        assert set(ids) == {created.id}

for _ in range(2):
    favorite = gateway.game.toggle_favorite(game_id=created.id)
    print(f"favorite: {str(favorite.favorited).lower()}, {favorite.favorite_count}")

batch = gateway.game.batch_create(
    games=[GameInput(title="一の巻"), GameInput(title="二の巻"), GameInput(title="三の巻")]
)
print(f"batch: {', '.join(game.title for game in batch.items)}")

found = anyone.game.list(limit=20, page=1, search="巻", sort_by="oldest")
print(f"search 巻: {len(found.items)} of {found.total}")

walk = anyone.game.list_all(search="巻", sort_by="oldest", limit=2)
print(f"walk 巻: {', '.join(game.title for game in walk)}")

REQUEST_ID = {"X-Request-Id": "scenario"}
reply = anyone.game.with_response.get_by_id(id=created.id, headers=REQUEST_ID)
print(f"reply: {reply.status} to {reply.request_id}, attempts {reply.attempts}")

post = gateway.image.create(
    title="路地裏",
    images=["https://images.example.com/rain.webp"],
    description="雨の夜",
)
print(f"describe: {post.description}")

cleared = gateway.image.update(id=post.id, description=None)
print(f"clear: {cleared.description or 'none'}")

first = gateway.game.create(title="一度きり", idempotency_key="scenario")
again = gateway.game.create(title="一度きり", idempotency_key="scenario")
print(f"again: {again.title}, {'the same' if again.id == first.id else 'another'}")


def refused(call: Callable[[], object]) -> None:
    try:
        call()
    except ApiError as error:
        issues = [f"{issue.path} {issue.code} {issue.message}" for issue in error.issues]
        print(f"{error.status} {error.reason}" + (f": {'; '.join(issues)}" if issues else ""))
    else:
        print("not refused")


refused(lambda: gateway.game.create(title="", cover_url="cover"))
refused(lambda: gateway.game.create(title="二度目", idempotency_key="scenario"))
refused(lambda: anyone.game.create(title="無名"))
refused(lambda: reader.game.create(title="読者"))
refused(lambda: anyone.game.get_by_id(id="nothing"))

try:
    anyone.game.get_by_id(id="nothing", headers=REQUEST_ID)
except ApiError as error:
    print(error)
