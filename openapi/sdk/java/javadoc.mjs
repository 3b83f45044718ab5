const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '&#64;');

/** Code, in which HTML means nothing. Only an entity can stand for the end of a comment, and only outside of `{@code …}`. */
const coded = (text) =>
  text.includes('*/') ? `<code>${escaped(text).replaceAll('*/', '*&#47;')}</code>` : `{@code ${text}}`;

/** A text of the document as a sentence of Javadoc, where backticks are `{@code …}` and HTML means nothing. */
export const javadoc = (text) => {
  const parts = text
    .trim()
    .split('`')
    .map((part, index) => (index % 2 === 0 ? escaped(part) : coded(part)));
  const sentence = parts.join('').replaceAll(/\s+/g, ' ');
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
};
