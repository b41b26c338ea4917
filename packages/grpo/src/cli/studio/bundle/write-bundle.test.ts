import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { folderOf, tempFolder } from '../../../formats/temp-folder.test.helper.js';
import { Watch } from '../../../progress/watch.js';
import { bundleFiles } from './bundle-files.js';
import { pageDocument } from './page-document.js';
import { MOST_INSIDE, writeBundle, writePage } from './write-bundle.js';

const PAGE = {
  html: `<!doctype html><html><head>
    <meta charset="utf-8" /><link rel="stylesheet" href="page.css" /></head>
    <body><div id="page"></div><script src="page.js" defer></script></body></html>`,
  script: "say('</script><!-- $& $`');",
  style: 'p::after { content: "</style>$&" }',
};

/** Nothing is left out. */
const never = (text: string) => {
  throw new Error(text);
};

const bundle = (folder: string, more: { start?: string } = {}) => ({
  page: PAGE,
  files: bundleFiles([{ name: 'a "b"&', path: folder }], never),
  watch: new Watch(),
  ...more,
});

const FILES = { 'run.log': '{"loss": 1}\n'.repeat(1000), 'sub/</script>.log': '' };

const heldIn = (text: string) =>
  [
    ...text.matchAll(
      /<script type="text\/plain" data-path="([^"]*)" data-size="(\d+)" data-modified="([\d.]+)">(.*?)<\/script>/g,
    ),
  ].map(([, path, size, , content]) => ({
    path,
    size: Number(size),
    text: content === '' ? '' : gunzipSync(Buffer.from(content!, 'base64')).toString(),
  }));

describe('a page with its data', () => {
  const document = () => {
    const out = join(tempFolder(), 'page.html');
    writePage(out, bundle(folderOf(FILES), { start: '#/run/%2Fa/step/2' }));
    return readFileSync(out, 'utf8');
  };

  it('has every file, whatever its name', () => {
    expect(heldIn(document())).toEqual([
      { path: '/a &quot;b&quot;&amp;/run.log', size: 12_000, text: FILES['run.log'] },
      { path: '/a &quot;b&quot;&amp;/sub/</script>.log', size: 0, text: '' },
    ]);
    expect(document()).toContain('<div id="files" hidden data-start="#/run/%2Fa/step/2">');
  });

  it('lets its own script and style run alone, and asks nobody', () => {
    const text = document();
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text)![1]!;
    const inside = (tag: string) => new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(text)![1]!;
    for (const [tag, rule] of [
      ['script', 'script-src'],
      ['style', 'style-src'],
    ] as const)
      expect(policy).toContain(
        `${rule} 'sha256-${createHash('sha256').update(inside(tag)).digest('base64')}'`,
      );
    expect(policy).toContain("connect-src 'none'");
    expect(text.indexOf('http-equiv')).toBeLessThan(text.indexOf('<style>'));
  });

  it('keeps a script whole that has the ends of elements in its texts', () => {
    const { after } = pageDocument(PAGE, "'none'");
    const code = /<script>(.*?)<\/script>/s.exec(after)![1]!;
    const said: string[] = [];
    new Function('say', code)((text: string) => said.push(text));
    expect(said).toEqual(['</script><!-- $& $`']);
  });

  it('is not written where the data is too large', () => {
    const folder = folderOf({ 'run.log': '' });
    truncateSync(join(folder, 'run.log'), MOST_INSIDE + 1);
    const out = join(tempFolder(), 'page.html');
    expect(() => writePage(out, bundle(folder))).toThrow(
      'One page holds at most 268 MB, and this has 268 MB',
    );
    expect(existsSync(out)).toBe(false);
  });
});

describe('a bundle', () => {
  it('is one file', () => {
    const out = join(tempFolder(), 'out');
    expect(writeBundle(out, bundle(folderOf(FILES)))).toBe(false);
    expect(readdirSync(out)).toEqual(['index.html']);
  });

  it('has large data beside the page', () => {
    const folder = folderOf({ 'run.log': 'x', 'sub/b.log': 'y' });
    truncateSync(join(folder, 'run.log'), MOST_INSIDE + 1);
    const out = join(tempFolder(), 'out');
    const files = bundleFiles([{ name: 'run', path: folder }], never);
    expect(writeBundle(out, { page: PAGE, files, watch: new Watch() })).toBe(true);
    const text = readFileSync(join(out, 'index.html'), 'utf8');
    expect(heldIn(text)).toEqual([
      { path: '/run/run.log', size: MOST_INSIDE + 1, text: '' },
      { path: '/run/sub/b.log', size: 1, text: '' },
    ]);
    expect(text).toContain('data-base="files"');
    expect(text).toContain("connect-src 'self'");
    expect(readFileSync(join(out, 'files/run/sub/b.log'), 'utf8')).toBe('y');
  });

  it('overwrites a page, and no other file', () => {
    const out = tempFolder();
    writeFileSync(join(out, 'index.html'), '');
    writeBundle(out, bundle(folderOf(FILES)));
    writeFileSync(join(out, 'thesis.txt'), '');
    expect(() => writeBundle(out, bundle(folderOf(FILES)))).toThrow('has files already');
  });
});

it('the record of a step brings both of its files', () => {
  const folder = folderOf({ '000002/step.json': '{}', '000002/step.safetensors': 'x', '000002/other': '' });
  const path = join(folder, '000002', 'step.json');
  expect(bundleFiles([{ name: 'step.json', path }], never).map((file) => file.path)).toEqual([
    '/step.json/step.json',
    '/step.json/step.safetensors',
  ]);
});

it('settings with a token of the hub are left out, and it is said', () => {
  const settings = (token: string) => `\x80\x02}q\x00X\x09\x00\x00\x00hub_tokenq\x01${token}s.`;
  const folder = folderOf({
    'a/training_args.bin': Buffer.from(settings('X\x09\x00\x00\x00hf_SECRETq\x02'), 'latin1'),
    'b/training_args.bin': Buffer.from(settings('N'), 'latin1'),
    'c/training_args.bin': 'no pickle',
  });
  const notes: string[] = [];
  const files = bundleFiles([{ name: 'run', path: folder }], (text) => notes.push(text));
  expect(files.map(({ path }) => path)).toEqual(['/run/b/training_args.bin']);
  expect(notes).toEqual([
    expect.stringContaining('a/training_args.bin holds a token (hub_token)'),
    expect.stringContaining('c/training_args.bin cannot be read'),
  ]);
});
