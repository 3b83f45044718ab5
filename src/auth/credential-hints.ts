import { KEY_LENGTH, KEY_PREFIX } from '../../contract/index.ts';

// Hints on malformed credentials, by the kind of mistake. A hint never repeats the credential or tells where in a key
// the mistake is: the owner can compare, and others learn nothing.

const HEADER = '`Authorization: Bearer <API_KEY>`';
const LENGTH = KEY_PREFIX.length + KEY_LENGTH;

/** Texts into which programs turn a variable without a value. */
const UNSET = ['undefined', 'null', 'None', 'nil', 'NaN', 'true', 'false', '[object Object]', '[object Promise]'];

/** Other schemes of the header: https://www.iana.org/assignments/http-authschemes, and schemes that clients invent. */
const SCHEMES = ['Basic', 'Digest', 'Token', 'ApiKey', 'Api-Key', 'Key', 'JWT', 'OAuth', 'Negotiate', 'HMAC'];

const QUOTES = /^["'`‘’“”]|["'`‘’“”]$/;
/** `<API_KEY>`, `YOUR_KEY`, `$API_KEY`, `${API_KEY}`, `{{apiKey}}`, `%API_KEY%`, `cgk_xxx` */
const PLACEHOLDER = new RegExp(
  `^(?:<[^>]*>|[$%{[].*|(?:your|my|the|insert)?[-_ ]?(?:api|access|secret)?[-_ ]?(?:key|token)(?:[-_ ]?here)?|${KEY_PREFIX}(?:x+|your.*|key|here))$`,
  'is',
);
const MASKED = new RegExp(`^${KEY_PREFIX}.*(?:…|\\.\\.\\.|\\*\\*|••|●●|xxxx)`, 'is');

/** The mistake in a text that is not a key. */
export const keyMistake = (key: string): string => {
  if (UNSET.includes(key)) return `The key is the word \`${key}\`: the variable that should hold it is not set.`;
  if (MASKED.test(key)) return 'The key is shortened or masked, as it is for display. Send all of it.';
  if (new RegExp(`^<${KEY_PREFIX}[^>]+>$`).test(key)) return 'The key is in angle brackets. Send it without them.';
  if (PLACEHOLDER.test(key)) return 'This is a placeholder. Put your API key in its place.';
  if (QUOTES.test(key)) return 'The key is in quotation marks. Send it without them.';
  if (key.startsWith('eyJ'))
    return `This is a JSON Web Token, which this service does not use. Send an API key, \`${KEY_PREFIX}…\`.`;
  if (!key.startsWith(KEY_PREFIX)) return `This is no API key of this service: those begin with \`${KEY_PREFIX}\`.`;
  const rest = key.slice(KEY_PREFIX.length);
  if (/^[0-9A-Za-z]+[^0-9A-Za-z]+$/.test(rest))
    return 'Something follows the key, such as a dot, a comma or a line break. Send the key alone.';
  if (/[^0-9A-Za-z]/.test(rest))
    return `The key holds a character that no key has: after \`${KEY_PREFIX}\` there are letters and digits only.`;
  if (key.length < LENGTH) return `The key is cut off. A key has ${LENGTH} characters.`;
  if (key.length > LENGTH) return `The key is too long. A key has ${LENGTH} characters.`;
  return 'The key has a typing error: its checksum is wrong. Copy it again.';
};

const startsWithScheme = (credential: string, scheme: string): boolean =>
  credential.toLowerCase() === scheme.toLowerCase() || new RegExp(`^${scheme}[ :=]`, 'i').test(credential);

/** The mistake in an `Authorization` header. */
export const credentialMistake = (authorization: string): string => {
  const credential = authorization.trim();
  const send = `Send ${HEADER}.`;
  if (credential === '') return `The header \`Authorization\` is empty. ${send}`;
  if (/^bearer$/i.test(credential))
    return 'No key follows `Bearer`: the variable that should hold it is empty or not set.';
  if (/^bearer\s+bearer\b/i.test(credential)) return '`Bearer` is there twice. Send it once.';
  if (/^bearer\s*[:=]/i.test(credential)) return 'Nothing but a space goes between `Bearer` and the key.';
  if (/^bearer\s/i.test(credential)) {
    const key = credential.replace(/^bearer\s+/i, '');
    if (UNSET.includes(key) || PLACEHOLDER.test(key) || QUOTES.test(key)) return keyMistake(key);
    if (/\s/.test(key)) return 'More than a key follows `Bearer`. Send one key, without spaces.';
    return /^bearer +/i.test(credential) ? keyMistake(key) : 'Put a space, not a tab, between `Bearer` and the key.';
  }
  if (/^bearer/i.test(credential)) return 'There is no space between `Bearer` and the key.';
  if (/^["'].*bearer/is.test(credential)) return 'The header is in quotation marks. Send it without them.';
  const scheme = SCHEMES.find((one) => startsWithScheme(credential, one));
  if (scheme !== undefined) return `The scheme is \`${scheme}\`, which this service does not use. ${send}`;
  if (credential.startsWith(KEY_PREFIX)) return `\`Bearer\` is missing before the key. ${send}`;
  if (UNSET.includes(credential))
    return `The header is the word \`${credential}\`: the variable that should hold it is not set. ${send}`;
  if (QUOTES.test(credential)) return `The header is in quotation marks. ${send}`;
  if (PLACEHOLDER.test(credential)) return `This is a placeholder. ${send}`;
  return `The header does not begin with \`Bearer\`. ${send}`;
};

/** Headers in which other APIs expect a key, in lower case. */
const OTHER_HEADERS = [
  'x-api-key',
  'api-key',
  'apikey',
  'api_key',
  'x-api-token',
  'x-auth-token',
  'x-access-token',
  'x-token',
  'x-authorization',
  'proxy-authorization',
];
/** Query parameters in which other APIs expect a key. */
const OTHER_PARAMETERS = ['api_key', 'apikey', 'api-key', 'key', 'access_token', 'token', 'auth', 'authorization'];

/** Describes the place of a key that is not read: `the header `X-API-Key``; undefined if the request has none. */
export const keyElsewhere = (
  headers: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, unknown>>,
): string | undefined => {
  const header = OTHER_HEADERS.find((name) => headers[name] !== undefined);
  if (header !== undefined) return `the header \`${header}\``;
  const parameter = Object.keys(query).find((name) => OTHER_PARAMETERS.includes(name.toLowerCase()));
  if (parameter !== undefined) return `\`${parameter.toLowerCase()}\` of the URL, which others may log`;
  return undefined;
};
