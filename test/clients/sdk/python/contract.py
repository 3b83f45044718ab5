"""Calls a sandbox as a consumer's tests do, and reads some of what comes. With CONTENT_GATEWAY_CONTRACT, the SDK records that."""

from __future__ import annotations

import copy
import json
import os
import pickle
import sys
import unittest
from itertools import islice
from unittest import mock

import msgspec
from content_gateway import ApiError, AsyncContentGateway, ContentGateway
from content_gateway.models import Download, DownloadInputDict, GameSummary

IS_RECORDED = "CONTENT_GATEWAY_CONTRACT" in os.environ
DOWNLOAD = Download(name="Mirror", url="https://a.example/x", password=None)


class Threads(unittest.TestCase):
    """With the client for threads."""

    def setUp(self) -> None:
        self.gateway = ContentGateway()
        self.addCleanup(self.gateway.close)

    def test_reads_some_members_of_a_list(self) -> None:
        items = self.gateway.game.list(limit=2, sort_by="latest").items
        self.assertEqual(type(items[0]) is GameSummary, not IS_RECORDED)
        self.assertIsInstance(items[0], GameSummary)
        self.gateway.game.list(limit=5, sort_by="latest")
        for game in items:
            self.assertTrue(game.title and all(tag.name for tag in game.tags))

    def test_walks(self) -> None:
        feed = self.gateway.event.tail(start="earliest", types=["game.created"])
        self.assertTrue(next(feed).record.id)
        feed.close()
        games = self.gateway.game.list_all(limit=2, time_range="all", max_records=3)
        self.assertEqual(len([game.id for game in games]), 3)

    def test_fails(self) -> None:
        with self.assertRaises(ApiError) as caught:
            self.gateway.game.get_by_id("none")
        self.assertEqual(caught.exception.reason, "GAME_NOT_FOUND")

    def test_reads_what_it_has_written(self) -> None:
        downloads: list[DownloadInputDict] = [{"name": DOWNLOAD.name, "url": DOWNLOAD.url}]
        made = self.gateway.game.create(title="A game 🎮", tag_names=["RPG"], extra_info={"downloads": downloads})
        self.assertEqual([download.url for download in made.extra_info.downloads], [DOWNLOAD.url])
        self.assertTrue(made.author.nickname)
        me = self.gateway.user.update_profile(bio=None, social_links={"mine": "@me"})
        self.assertEqual(list(me.social_links), ["mine"])

    def test_reads_a_download_as_a_whole(self) -> None:
        downloads: list[DownloadInputDict] = [{"name": DOWNLOAD.name, "url": DOWNLOAD.url}]
        made = self.gateway.game.create(title="A game", extra_info={"downloads": downloads})
        self.assertEqual(made.extra_info.downloads, [DOWNLOAD])

    def test_reads_a_reply_as_a_whole(self) -> None:
        self.assertIn('"scopes"', self.gateway.user.with_response.me().body)

    def test_calls_by_name(self) -> None:
        self.assertTrue(self.gateway.call("user.me")["nickname"])

    def test_prints(self) -> None:
        self.assertIn("User(", repr(self.gateway.user.me()))

    def test_is_named_by_pytest(self) -> None:
        with mock.patch.dict(os.environ, PYTEST_CURRENT_TEST="test_shop.py::test_me (call)"):
            self.assertTrue(self.gateway.user.me().nickname)

    def test_has_values_that_behave_as_those_that_came(self) -> None:
        response = self.gateway.event.with_response.list(limit=2, start="earliest")
        page = response.data
        came = json.loads(response.body)["result"]["data"]["json"]
        self.assertEqual([event["id"] for event in came["items"]], [event.id for event in page.items])
        self.assertEqual(page.to_dict(), msgspec.to_builtins(page))
        self.assertEqual(json.loads(page.to_json()), page.to_dict())
        for copied in (copy.copy(page), copy.deepcopy(page), pickle.loads(pickle.dumps(page))):
            self.assertEqual(copied, page)
        first, second = page.items
        self.assertEqual(first, first)
        self.assertNotEqual(first, second)
        self.assertEqual(type(first).__name__, "Event")
        first.id = "another"
        self.assertEqual(page.items[0].id, "another")


class Tasks(unittest.IsolatedAsyncioTestCase):
    """With the client for tasks."""

    async def test_reads_some_members_of_a_list(self) -> None:
        async with AsyncContentGateway() as gateway:
            page = await gateway.game.list(limit=2, sort_by="likes")
            self.assertTrue(all(game.author for game in islice(page.items, 1)))
            with self.assertRaises(ApiError):
                await gateway.image.get_by_id("none")
            feed = gateway.event.tail(start="earliest", types=["user.created"])
            async for event in feed:
                self.assertTrue(event.type)
                break
            await feed.close()


class Recording(unittest.TestCase):
    """What records is for tests alone."""

    def test_is_loaded_only_where_it_is_asked_for(self) -> None:
        with ContentGateway() as gateway:
            gateway.user.me()
        self.assertEqual("content_gateway._recorder" in sys.modules, IS_RECORDED)
