import { z } from 'zod';
import { Author, AvatarUrl, Count, HttpUrl, Id, mapOf, SocialLink, Timestamp, wholeNumber } from './common.ts';
import { exampleUser } from './examples.ts';
import { lengths, MAX_FOUND_USERS, MAX_SOCIAL_LINKS } from './limits.ts';
import { noInput, procedure, router, Scope, scopes } from './procedure.ts';
import { form, keyless, label, line, prose, text } from './text.ts';

const SiteName = text(
  1,
  lengths.siteName,
  form(`^[a-z0-9_-]{1,${lengths.siteName}}$`, `must be 1 to ${lengths.siteName} of a-z, 0-9, "_" and "-"`),
);

const SocialLinksInput = mapOf(SiteName, SocialLink, MAX_SOCIAL_LINKS).meta({
  id: 'SocialLinksInput',
  description:
    'Links by the name of the site. Names consist of a-z, 0-9, "_" and "-"; values are http(s) URLs or handles. Replaced as a whole.',
});

const profileMembers = {
  id: z.string().describe('The id; treat it as opaque'),
  nickname: z.string().describe('The display name'),
  bio: z.string().nullable().describe('A few words about the user'),
  pronouns: z.string().nullable().describe('Pronouns'),
  website: z.string().nullable().describe('Personal website'),
  location: z.string().nullable().describe('Location'),
  socialLinks: z
    .record(z.string(), z.string())
    .meta({ id: 'SocialLinks', description: 'Links or handles by the name of the site.' }),
  avatar: z.string().nullable().describe('URL or path of the avatar'),
  gameCount: Count.describe('The number of games the user published'),
  imagePostCount: Count.describe('The number of image posts the user published'),
  createdAt: Timestamp.describe('When the user joined'),
};

const UserProfile = z.object(profileMembers).meta({ id: 'UserProfile', description: 'The public profile of a user.' });

const CurrentUser = z
  .object({
    ...profileMembers,
    updatedAt: Timestamp.describe('When the profile was last changed'),
    apiKey: z
      .object({
        id: z.string().describe('The id of the key, not the key itself'),
        name: z.string().describe('The name of the key'),
        scopes: z.array(Scope).describe('The scopes that the key holds'),
        expiresAt: Timestamp.nullable().describe('When it stops working; null for never'),
      })
      .meta({ id: 'ApiKeyInfo', description: 'The key that this request used.' }),
  })
  .meta({ id: 'CurrentUser', description: 'The caller: their full profile and the key in use.' });

const exampleProfile = {
  ...exampleUser,
  bio: 'ゲームと雨の写真が好きです。',
  pronouns: 'they/them',
  website: 'https://demo.example.com/',
  location: '京都',
  socialLinks: { github: 'https://github.com/example', pixiv: '@demo' },
  gameCount: 2,
  imagePostCount: 1,
  createdAt: '2025-11-01T09:00:00.000Z',
};

const exampleCurrentUser = {
  ...exampleProfile,
  updatedAt: '2025-11-01T09:00:00.000Z',
  apiKey: {
    id: '019a3c5e-b150-7e85-9f52-9d40ce61a205',
    name: 'demo',
    scopes: [...scopes],
    expiresAt: '2026-01-30T09:00:00.000Z',
  },
};

export const user = router('user', {
  getProfile: procedure({
    summary: 'Read a profile',
    description: 'Reads the public profile of a user.',
    access: 'public',
    effect: 'read',
    input: z.strictObject({ id: Id.describe('The id of the user') }),
    output: UserProfile,
    laws: ['profiles'],
    errors: ['USER_NOT_FOUND'],
    example: { input: { id: exampleUser.id }, output: exampleProfile },
  }),

  me: procedure({
    summary: 'Read the current user',
    description: 'Reads the full profile of the user of the API key, and the details of the key.',
    access: 'user:read',
    effect: 'read',
    input: noInput(),
    output: CurrentUser,
    laws: ['permits'],
    errors: [],
    example: { input: {}, output: exampleCurrentUser },
  }),

  updateProfile: procedure({
    summary: 'Change the profile',
    description:
      'Changes the members that you send. `null` clears a text. `socialLinks` is replaced as a whole. The nickname can be changed, but not cleared.',
    access: 'user:write',
    effect: 'write',
    input: z.strictObject({
      nickname: keyless(label(lengths.nickname)).optional().describe('The display name'),
      bio: prose(0, lengths.bio).nullable().optional().describe('A few words about the user'),
      pronouns: line(0, lengths.pronouns).nullable().optional().describe('Pronouns'),
      website: HttpUrl.nullable().optional().describe('Personal website'),
      location: line(0, lengths.location).nullable().optional().describe('Location'),
      socialLinks: SocialLinksInput.optional(),
    }),
    output: CurrentUser,
    laws: ['restores'],
    errors: [],
    example: {
      input: { bio: exampleProfile.bio, pronouns: null, socialLinks: exampleProfile.socialLinks },
      output: { ...exampleCurrentUser, pronouns: null },
    },
  }),

  updateAvatar: procedure({
    summary: 'Change the avatar',
    description: 'Sets the avatar of the user of the API key; `null` clears it.',
    access: 'user:write',
    effect: 'write',
    input: z.strictObject({
      avatar: AvatarUrl.nullable().describe('An http(s) URL, or a path such as /avatars/me.png'),
    }),
    output: CurrentUser,
    laws: ['restores'],
    errors: [],
    example: { input: { avatar: '/avatars/demo.png' }, output: exampleCurrentUser },
  }),

  search: procedure({
    summary: 'Search users',
    description:
      'Finds users by any part of their nickname. Width, letter case, kana form and invisible characters do not matter.',
    access: 'user:read',
    effect: 'read',
    input: z.strictObject({
      query: text(1, lengths.search).describe('A part of the nickname'),
      limit: wholeNumber(1, MAX_FOUND_USERS).describe('The most users to return'),
    }),
    output: z.object({
      items: z.array(Author).describe('The users found; those whose nickname starts with the query come first'),
      hasMore: z.boolean().describe('Whether there are more'),
    }),
    searchMember: 'query',
    laws: ['finds'],
    errors: [],
    example: { input: { query: 'demo', limit: 10 }, output: { items: [exampleUser], hasMore: false } },
  }),
});
