/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { issuesOf, MAX_ISSUES } from '../../contract/index.ts';

/** The faults of an envelope whose `json` is this. */
const issuesIn = (input: unknown, json: z.ZodType, beside: object = {}) =>
  issuesOf(z.strictObject({ json }).safeParse({ json: input, ...beside }).error?.issues ?? []);

describe('validation issues', () => {
  test('a pointer leads to the fault', () => {
    const games = z.object({ games: z.array(z.object({ title: z.string() })) });
    expect(issuesIn({ games: [{ title: 'a' }, { title: 1 }] }, games)).toEqual([
      { path: '/games/1/title', code: 'invalid_type', message: expect.any(String) },
    ]);
  });

  test('a fault of the whole input has the empty pointer', () => {
    expect(issuesIn(1, z.object({}))).toEqual([{ path: '', code: 'invalid_type', message: expect.any(String) }]);
  });

  test('slashes and tildes in names are escaped as RFC 6901 says', () => {
    const links = z.record(z.string(), z.string());
    const paths = issuesIn({ 'a/b': 1, 'm~n': 1, '~1': 1, '': 1, '伝"\\': 1 }, links).map((issue) => issue.path);
    expect(paths).toEqual(['/a~1b', '/m~0n', '/~01', '/', '/伝"\\']);
  });

  test('each unknown member is a fault of its own', () => {
    expect(issuesIn({ a: 1, 'b/c': 2 }, z.strictObject({}))).toEqual([
      { path: '/a', code: 'unrecognized_keys', message: 'is not a member of this input' },
      { path: '/b~1c', code: 'unrecognized_keys', message: 'is not a member of this input' },
    ]);
  });

  test('what is unknown beside `json` is named in words, since no pointer into `json` leads there', () => {
    expect(issuesIn({}, z.strictObject({}), { 'tit"le': 1 })).toEqual([
      { path: '', code: 'unrecognized_keys', message: 'must not hold "tit\\"le" beside `json`' },
    ]);
  });

  test('a member that lacks is required', () => {
    expect(issuesIn({}, z.object({ title: z.string() }))).toEqual([
      { path: '/title', code: 'invalid_type', message: 'is required' },
    ]);
  });

  test('a faulty name of a member says what is allowed', () => {
    const links = z.record(z.string().regex(/^[a-z]+$/, 'must be a-z'), z.string());
    expect(issuesIn({ 'A/': 'x' }, links)).toEqual([
      { path: '/A~1', code: 'invalid_key', message: 'is not a usable name: it must be a-z' },
    ]);
  });

  test('the code of our own checks is the one they give', () => {
    const json = z.string().check((ctx) => {
      ctx.issues.push({ code: 'custom', input: ctx.value, message: 'no', params: { code: 'lone_surrogate' } });
    });
    expect(issuesIn('x', json)).toEqual([{ path: '', code: 'lone_surrogate', message: 'no' }]);
  });

  test('a hostile input gets a bounded list', () => {
    const many = Object.fromEntries(Array.from({ length: MAX_ISSUES + 1 }, (_, index) => [`m${index}`, 1]));
    expect(issuesIn(many, z.strictObject({}))).toHaveLength(MAX_ISSUES);
    expect(issuesIn(Array.from({ length: MAX_ISSUES + 1 }), z.array(z.string()))).toHaveLength(MAX_ISSUES);
  });
});
