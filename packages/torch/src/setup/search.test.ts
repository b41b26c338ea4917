import { afterEach, describe, expect, it, vi } from 'vitest';
import { inspectLayout, type Layout, type Missing } from './layout.js';
import { temporaryFolder, writeLibtorch } from './libtorch.test.helper.js';
import type { Source } from './record.js';
import { SetupError } from './run.js';
import { search, type Way, ways } from './search.js';

const layout = inspectLayout(writeLibtorch(temporaryFolder())) as Layout;
const silent = () => {};
const way = (source: Source, result: Layout | Missing) =>
  ({ source, help: `Fix ${source}.`, find: vi.fn(async () => result) }) satisfies Way;

afterEach(() => vi.unstubAllEnvs());

describe('search', () => {
  it('takes the first way that leads somewhere and asks no later one', async () => {
    const [no, yes, later] = [way('python3', { why: 'none' }), way('cache', layout), way('debian', layout)];
    expect(await search([no, yes, later], silent)).toEqual({ source: 'cache', ...layout });
    expect(later.find).not.toHaveBeenCalled();
  });

  it('names every way, why it failed and what to do', async () => {
    const none = [way('LIBTORCH', { why: 'not set' }), way('debian', { why: 'there is no apt-get' })];
    await expect(search(none, silent)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [SetupError: No libtorch was found. Any one of these ways will do:
        1. LIBTORCH: not set.
           Fix LIBTORCH.
        2. debian: there is no apt-get.
           Fix debian.]
    `);
  });
});

describe('ways', () => {
  it('are tried in the documented order', () => {
    expect(ways.map(({ source }) => source)).toEqual(['LIBTORCH', 'python3', 'cache', 'debian']);
  });

  it('take LIBTORCH when it is set', async () => {
    vi.stubEnv('LIBTORCH', layout.root);
    expect(await ways[0]!.find(silent)).toEqual(layout);
  });

  it('do not go on past a LIBTORCH that is wrong', async () => {
    const wrong = temporaryFolder();
    vi.stubEnv('LIBTORCH', wrong);
    await expect(search(ways, silent)).rejects.toThrow(SetupError);
    await expect(search(ways, silent)).rejects.toThrow(`LIBTORCH=${wrong} cannot be used: `);
  });

  it('pass on when LIBTORCH is unset', async () => {
    vi.stubEnv('LIBTORCH', '');
    expect(await ways[0]!.find(silent)).toEqual({ why: 'not set' });
  });
});
