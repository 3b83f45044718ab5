"""Prints what corrections.txt holds: an author changes and deletes what it published. None clears; what is left out stays."""

from collections.abc import Callable

from content_gateway import ApiError, ContentGateway
from content_gateway.models import ExtraInfoInput, ExtraInfoUpdateInput, Game, GameDeleteOutput, ImageDeleteOutput

gateway = ContentGateway()


def show(step: str, game: Game) -> None:
    extra = game.extra_info
    author = extra.original_author or "none"
    platform = extra.platforms[0] if extra.platforms else "none"
    print(
        f"{step}: {game.title}, {game.version or 'none'}, by {author}, {extra.file_size}, on {platform}, "
        f"free: {str(game.is_free).lower()}"
    )


game = gateway.game.create(
    title="書き間違い",
    version="Ver1.0",
    is_free=False,
    extra_info=ExtraInfoInput(original_author="青い丘工房", file_size="1.5GB", platforms=["Windows"]),
)
show("create", game)

cleared = ExtraInfoUpdateInput(original_author=None, platforms=[])
show("clear", gateway.game.update(id=game.id, title="直した題", version=None, extra_info=cleared))
show("set", gateway.game.update(id=game.id, extra_info={"original_author": "赤い丘工房"}))


def list_own() -> None:
    page = gateway.game.list(author_id=game.author.id)
    print(f"by author: {', '.join(own.title for own in page.items) or 'none'}")


def delete_twice(id: str, delete: Callable[[str], GameDeleteOutput | ImageDeleteOutput]) -> None:
    gone = delete(id)
    try:
        delete(id)
    except ApiError as error:
        print(f"delete: {'the same' if gone.id == id else 'another'}, then {error.status} {error.reason}")


list_own()
delete_twice(game.id, gateway.game.delete)
list_own()
post = gateway.image.create(title="路地裏", images=["https://images.example.com/rain.webp"])
delete_twice(post.id, gateway.image.delete)
