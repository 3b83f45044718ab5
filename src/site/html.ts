const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A text as it stands in HTML, between tags or in a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

/** A block of code, from HTML; it scrolls by itself, by the keyboard, too. */
export const codeBlock = (html: string): string => `<pre tabindex="0"><code>${html}</code></pre>`;
