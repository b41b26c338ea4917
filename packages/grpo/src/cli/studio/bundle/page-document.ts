import { createHash } from 'node:crypto';
import { contentPolicy } from '../content-policy.js';
import type { Page } from '../page.js';

/** The text around the files of a page that has all within it. */
export interface PageDocument {
  /** Up to the place of the files. */
  before: string;
  after: string;
}

/**
 * The page as one document: its script and style are inside, and its policy lets nothing else run.
 *
 * @param connect - where it may read from: nowhere, or the server that it comes from
 */
export function pageDocument({ html, script, style }: Page, connect: "'none'" | "'self'"): PageDocument {
  const [code, rules] = [withoutEnds(script), style.replaceAll('</', '<\\/')];
  const policy = contentPolicy({ script: hashOf(code), style: hashOf(rules), connect });
  const head = replaced(
    replaced(html, /<link rel="stylesheet"[^>]*>/, `<style>${rules}</style>`),
    /<meta charset="utf-8" \/>/,
    `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
  );
  const [before, after] = head.split(SCRIPT);
  if (after === undefined) throw new Error('the page has no script');
  return { before: before!, after: `<script>${code}</script>${after}` };
}

const SCRIPT = /<script src="page\.js"[^>]*><\/script>/;

/** A text in a script that ends it, or begins a comment of HTML: only strings and expressions have it. */
const withoutEnds = (script: string): string => script.replace(/<(?=\/script|!--)/gi, '\\x3C');

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function replaced(html: string, pattern: RegExp, text: string): string {
  if (!pattern.test(html)) throw new Error(`the page has no ${pattern}`);
  // A function, since a text may have `$&`.
  return html.replace(pattern, () => text);
}
