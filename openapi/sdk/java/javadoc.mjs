const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '&#64;');

/** A text of the document as a sentence of Javadoc, where backticks are `{@code …}` and HTML means nothing. */
export const javadoc = (text) => {
  const parts = text
    .trim()
    .split('`')
    .map((part, index) => (index % 2 === 0 ? escaped(part) : `{@code ${part}}`));
  const sentence = parts.join('').replaceAll(/\s+/g, ' ');
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
};
