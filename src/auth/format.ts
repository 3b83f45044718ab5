import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { secureRandomInt } from '../base/runtime.ts';
import { KEY_LENGTH, KEY_PREFIX } from '../../contract/index.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CHECKSUM_LENGTH = 6;
const RANDOM_LENGTH = KEY_LENGTH - CHECKSUM_LENGTH;
const SHAPE = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${KEY_LENGTH}}$`);

const checksum = (text: string): string => {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
};

/** The key with these 32 base62 characters between prefix and checksum. */
export const keyOf = (characters: string): string => KEY_PREFIX + characters + checksum(KEY_PREFIX + characters);

/** A well-formed public key for tests: a word of at most 32 letters and digits, and zeros. */
export const keyOfWord = (word: string): string => keyOf(word.padEnd(RANDOM_LENGTH, '0'));

/**
 * A new key: `cgk_`, 32 random base62 characters (190 bits) and the CRC-32 of all that as 6 base62 characters, so that
 * secret scanners recognise a key and a typo is found without a query.
 */
export const generateKey = (): string =>
  keyOf(Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(secureRandomInt(ALPHABET.length))).join(''));

/** Whether a text has the shape and the checksum of a key. */
export const isWellFormedKey = (text: string): boolean =>
  SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);

/** SHA-256 of a key, the only stored form; it suffices for 190 random bits, which no dictionary contains. */
export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest();

/** The part of a key that may be shown. */
export const displayPrefix = (key: string): string => key.slice(0, 12);
