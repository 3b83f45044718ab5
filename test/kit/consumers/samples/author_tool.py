"""The tests of a consumer that has the Python SDK.

They run once for each line of the standard input, against CONTENT_GATEWAY_URL, and print a line: ``passed``, or why one failed.
"""

from __future__ import annotations

import sys
import unittest
from typing import ClassVar

from content_gateway import ContentGateway


class AuthorTool(unittest.TestCase):
    gateway: ClassVar = ContentGateway(max_retries=0)

    def test_publishes_a_game(self) -> None:
        downloads = [{"name": "Mirror", "url": "https://a.example/x"}]
        made = self.gateway.game.create(
            title="A game",
            description="About it",
            tag_names=["rpg"],
            extra_info={"downloads": downloads, "platforms": ["Windows"]},
        )
        self.assertTrue(made.id)
        self.assertGreaterEqual(made.updated_at, made.created_at)
        # It leaves out `is_free`.
        self.assertIs(made.is_free, True)
        self.assertEqual([download.url for download in made.extra_info.downloads], ["https://a.example/x"])

    def test_says_what_it_may_do(self) -> None:
        me = self.gateway.user.me()
        self.assertTrue(me.nickname)
        self.assertTrue(me.api_key.name)
        # Null, for a key that does not expire.
        self.assertIsNone(me.api_key.expires_at)


for _ in sys.stdin:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(AuthorTool).run(result)
    reasons = [reason.strip().splitlines()[-1] for _, reason in result.errors + result.failures]
    print(reasons[0] if reasons else "passed", flush=True)
