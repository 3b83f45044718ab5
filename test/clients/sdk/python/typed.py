"""What the types promise: checked only, and never run. An error that is ignored here must be one."""

from collections.abc import AsyncIterator, Iterator

from content_gateway import AsyncContentGateway, AttemptEvent, ContentGateway, Response
from content_gateway.models import DownloadInput, ExtraInfoInputDict, Game, GameInput, GameSummary
from content_gateway.procedures import AsyncGameListPage, GameListPage

gateway = ContentGateway()
extra_info: ExtraInfoInputDict = {"file_size": "1GB", "downloads": [DownloadInput(name="a", url="b")]}

gateway.game.create(title="a", extra_info=extra_info)
gateway.game.create(title="a", extra_info={"downloads": [{"name": "a", "url": "b"}]})
gateway.game.create(title="a", extra_info={"fileSize": "1GB"})  # type: ignore[arg-type]
gateway.game.create(title="a", extra_info={"downloads": [{"name": "a"}]})  # type: ignore[arg-type]

inputs: list[GameInput] = [GameInput(title="a")]
gateway.game.batch_create(inputs)
gateway.game.batch_create([GameInput(title="a"), {"title": "b", "extra_info": extra_info}])
gateway.game.batch_create([{"titel": "a"}])  # type: ignore[list-item]

game: Game = gateway.game.get_by_id("a")
response: Response[Game] = gateway.game.with_response.get_by_id("a")
gateway.game.toggle_reaction("a", "like")  # type: ignore[call-arg]

# Where a list begins, the SDK knows; and what is required alone needs no name.
gateway.game.list()
gateway.game.list(cursor="a")
gateway.game.get_related("a", limit=3)
gateway.user.search("a")
gateway.game.get_related("a", 3)  # type: ignore[call-arg]

pages: Iterator[GameListPage] = gateway.game.list_pages(search="a")
records: Iterator[GameSummary] = gateway.game.list_all(max_records=3)
gateway.game.list(limit=20, page=1, max_records=3)  # type: ignore[call-arg]
gateway.game.get_by_id("a", idempotency_key="a")  # type: ignore[call-arg]

newer: dict[str, object] = gateway.with_options(api_key="").call("game.getNewest", {"limit": 3})
attempts: list[AttemptEvent] = []
derived: AsyncContentGateway = AsyncContentGateway().with_options(on_attempt=attempts.append)
async_pages: AsyncIterator[AsyncGameListPage] = derived.game.list_pages()
reply: Response[dict[str, object]] = gateway.with_response.call("game.getNewest")


async def hook(_: AttemptEvent) -> None:
    """No hook: nothing would wait for it."""


gateway.with_options(on_attempt=hook)  # type: ignore[arg-type]
