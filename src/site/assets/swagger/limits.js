const parameter = (list, name) => list.match(new RegExp(`;\\s*${name}=("[^"]*"|[^;,]+)`))?.[1].replaceAll('"', '');

/** The policies of a `RateLimit-Policy`, by their names: `"read";q=600;w=60` */
const policiesOf = (header) =>
  new Map([...header.matchAll(/"([^"]+)"((?:;[^,;]+)*)/g)].map(([, name, rest]) => [name, rest]));

/**
 * What the headers on limits say, in words.
 *
 * @param headers of a reply, by their names in lower case
 * @returns such as "Limit “read”: 599 of 600 left, all back in 1 second."; undefined where nothing is limited
 */
export const limitsOf = ({ ratelimit, 'ratelimit-policy': policy = '', 'retry-after': retry }) => {
  const again = retry === undefined ? [] : [`Try again in ${secondsOf(retry)}.`];
  if (ratelimit === undefined) return again.length > 0 ? again.join(' ') : undefined;
  const name = /"([^"]+)"/.exec(ratelimit)?.[1];
  const rules = policiesOf(policy).get(name) ?? '';
  const quota = parameter(rules, 'q');
  const unit = parameter(rules, 'qu');
  const of = quota === undefined ? '' : ` of ${quota}`;
  const wait = parameter(ratelimit, 't');
  const back = wait === undefined ? '' : `, all back in ${secondsOf(wait)}`;
  return [`Limit “${name}”: ${parameter(ratelimit, 'r')}${of}${unit ? ` ${unit}` : ''} left${back}.`, ...again].join(
    ' ',
  );
};

const secondsOf = (count) => `${count} ${count === '1' ? 'second' : 'seconds'}`;
