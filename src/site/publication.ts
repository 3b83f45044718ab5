import type { Config } from '../config/config.ts';
import { escapeHtml } from './html.ts';

/** The settings that the pages depend on. */
export type Publication = Pick<Config, 'brand' | 'keyRequestUrl' | 'publicUrl' | 'sandbox' | 'sdkPackages' | 'sdksDir'>;

/** A service with a public address or a contact is a deployment; any other may be the reader's own. */
export const kindOf = ({ brand, publicUrl, sandbox }: Publication): 'sandbox' | 'deployment' | 'own' => {
  if (sandbox) return 'sandbox';
  return publicUrl !== undefined || brand.contact !== undefined ? 'deployment' : 'own';
};

/** A link in HTML. */
const linkTo = (url: string, html: string): string => `<a href="${escapeHtml(url)}">${html}</a>`;

/** The place where a reader gets a key, as HTML. `root` is the path from the page to the root of the service. */
export const keyHelp = (publication: Publication, root: string): string => {
  const { contact } = publication.brand;
  const kind = kindOf(publication);
  if (kind === 'sandbox') {
    return `The ${linkTo(`${root}guides/sandbox#keys`, 'keys of the sandbox')} are fixed and public.`;
  }
  if (publication.keyRequestUrl !== undefined) {
    return `${linkTo(publication.keyRequestUrl, 'Request a key')} from the operator of this service.`;
  }
  if (contact !== undefined) {
    return `Ask ${linkTo(contact, escapeHtml(contact.replace(/^mailto:|^https?:\/\//i, '')))} for a key.`;
  }
  const invitation = kind === 'own' ? linkTo(`${root}guides/keys#get-a-key`, 'an invitation') : 'an invitation';
  return `Ask the operator of this service for ${invitation}.`;
};

/** Turns "the operator" into a link to the contact, wherever a text advises to ask them. */
const withContact = (
  text: string,
  contact: string | undefined,
  link: (words: string, url: string) => string,
): string =>
  contact === undefined
    ? text
    : text.replaceAll(
        /\b([Aa]sk|[Tt]ell) (the operator(?: of the service)?)\b/g,
        (_, verb: string, words: string) => `${verb} ${link(words, contact)}`,
      );

/** A URL as valid in a link of Markdown. */
export const markdownUrl = (url: string): string =>
  new URL(url).href.replaceAll(/[()]/g, (character) => (character === '(' ? '%28' : '%29'));

/** `withContact` for HTML. */
export const htmlWithContact = (html: string, { brand: { contact } }: Publication): string =>
  withContact(html, contact, (words, url) => linkTo(url, words));

/** `withContact` for Markdown. */
export const markdownWithContact = (markdown: string, { brand: { contact } }: Publication): string =>
  withContact(markdown, contact, (words, url) => `[${words}](${markdownUrl(url)})`);
