/**
 * @engines none
 * @tier fast
 */
import { expect, test } from '@jest/globals';
import { escapeHtml } from '../../src/site/html.ts';

test('a text of any characters stands between tags, or in an attribute with quotes of either kind', () => {
  expect(escapeHtml(`<a b="c" d='e'>&amp;`)).toBe('&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;');
});
