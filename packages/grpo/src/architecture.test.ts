import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/**
 * The floors of docs/architecture.md, lowest first. `index` and `reward-exports` are what `grpo` and `grpo/rewards` export;
 * `page` is the package `@grpo/studio`.
 */
const FLOORS: readonly (readonly string[])[] = [
  ['errors', 'maths', 'progress'],
  ['formats', 'http'],
  ['config', 'hub'],
  ['trace'],
  ['doctor'],
  ['view', 'sinks'],
  ['studio'],
  ['torch'],
  ['text', 'models', 'memory'],
  ['rollout', 'remote', 'objective', 'rewards', 'export'],
  ['tasks'],
  ['step'],
  ['audit', 'observe', 'evaluation', 'imitation', 'inspection'],
  ['run', 'processes', 'serve'],
  ['library', 'lab', 'cs336'],
  ['index', 'reward-exports'],
  ['cli', 'page'],
];

const SOURCES = {
  grpo: fileURLToPath(new URL('../src/', import.meta.url)),
  torch: fileURLToPath(new URL('../../torch/src/', import.meta.url)),
  studio: fileURLToPath(new URL('../../studio/src/', import.meta.url)),
};

/** A source file by its package and its path in that package's sources, with what it imports. */
interface Source {
  owner: keyof typeof SOURCES;
  path: string;
  imports: readonly string[];
}

/** Test files may look into every room. */
const isTest = (path: string) => /\.test(\.\w+)?\.tsx?$/.test(path);

/** Every module that a source names, those of which it takes only types included. */
const importsOf = (text: string): string[] =>
  ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);

function readSources(owner: Source['owner']): Source[] {
  return readdirSync(SOURCES[owner], { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.d)\.tsx?$/.test(path) && !isTest(path))
    .map((path) => {
      const text = readFileSync(join(SOURCES[owner], path), 'utf8');
      return { owner, path: path.replaceAll(sep, '/'), imports: importsOf(text) };
    });
}

/** The room of a file; the engine is one room, and so is the page. */
function roomOf(owner: Source['owner'], path: string): string {
  if (owner === 'torch') return 'torch';
  if (owner === 'studio') return 'page';
  const [first, ...rest] = path.split('/') as [string, ...string[]];
  return rest.length > 0 ? first : first.replace(/\.[jt]s$/, '');
}

/** The room that an import leads to; undefined for Node's modules and libraries. */
function roomOfImport({ owner, path }: Source, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return roomOf(owner, join(dirname(path), specifier).replaceAll(sep, '/'));
  if (/^@grpo\/torch(\/|$)/.test(specifier)) return 'torch';
  if (specifier === 'grpo/studio') return 'studio';
  return /^grpo(\/|$)/.test(specifier) ? 'index' : undefined;
}

const floorOf = (room: string) => FLOORS.findIndex((rooms) => rooms.includes(room));

/** Every import that breaks a rule, in words. */
function violations(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const { owner, path, imports } = source;
    const room = roomOf(owner, path);
    const where = `${owner}: ${path}`;
    if (floorOf(room) < 0) return [`${where} is in ${room}, which has no floor`];
    return imports.flatMap((specifier) => {
      const target = specifier.startsWith('.') ? join(dirname(path), specifier) : '';
      if (relative('.', target).startsWith('..'))
        return [`${where} imports ${specifier}, outside its package`];
      const other = roomOfImport(source, specifier);
      if (other === undefined || other === room) return [];
      // Its data come through one door; nothing else of the product runs in a browser.
      if (room === 'page' && other !== 'studio') return [`${where} imports ${specifier}, which no page can`];
      if (floorOf(other) < 0) return [`${where} imports ${specifier}: ${other} has no floor`];
      return floorOf(other) > floorOf(room)
        ? [`${where} imports ${specifier}: ${other} is above ${room}`]
        : [];
    });
  });
}

/**
 * Groups of files that lead to each other by their imports, each sorted: the strongly connected components of more than
 * one file, found as Tarjan (1972) does.
 */
function circles(sources: readonly Source[]): string[][] {
  const keyOf = (owner: Source['owner'], path: string) =>
    `${owner}: ${path.replace(/\.(js|tsx)(\?.*)?$/, '.ts')}`;
  const targets = new Map(
    sources.map(({ owner, path, imports }) => [
      keyOf(owner, path),
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => keyOf(owner, posix.join(posix.dirname(path), specifier))),
    ]),
  );
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const own = order.size;
    order.set(file, own);
    lowest.set(file, own);
    open.push(file);
    for (const target of targets.get(file)!) {
      if (!targets.has(target)) continue;
      const reached = order.has(target) ? (open.includes(target) ? order.get(target)! : own) : visit(target);
      lowest.set(file, Math.min(lowest.get(file)!, reached));
    }
    if (lowest.get(file) === own) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) found.push(circle.sort());
    }
    return lowest.get(file)!;
  };
  for (const file of targets.keys()) if (!order.has(file)) visit(file);
  return found;
}

describe('imports', () => {
  const sources = [...readSources('torch'), ...readSources('grpo'), ...readSources('studio')];

  it('are read from every room', () => {
    const rooms = new Set(sources.map(({ owner, path }) => roomOf(owner, path)));
    expect([...rooms].sort()).toEqual(FLOORS.flat().sort());
    const cli = sources.find(({ path }) => path === 'cli/table.ts');
    expect(cli?.imports).toContain('./train/info.js');
  });

  it.each([
    "import type { A } from './a.js';",
    "import { type A } from './a.js';",
    "import type A from './a.js';",
    "import type * as a from './a.js';",
    "export type { A } from './a.js';",
    "export { type A } from './a.js';",
    "export type * from './a.js';",
    "let a: import('./a.js').A;",
    "const { A } = await import('./a.js');",
  ])('count as %s', (text) => {
    expect(importsOf(text)).toEqual(['./a.js']);
  });

  it('go down the floors and stay inside their package', () => {
    expect(violations(sources)).toEqual([]);
  });

  it.each<[string, Source]>([
    ['to a room above', { owner: 'grpo', path: 'objective/loss.ts', imports: ['../step/grpo-step.js'] }],
    ['of the engine below it', { owner: 'grpo', path: 'formats/json.ts', imports: ['@grpo/torch'] }],
    ['of the product by the engine', { owner: 'torch', path: 'tensor.ts', imports: ['grpo'] }],
    ['of the command by the library', { owner: 'grpo', path: 'index.ts', imports: ['./cli/version.js'] }],
    ['out of the package', { owner: 'grpo', path: 'cli/main.ts', imports: ['../../../torch/src/index.js'] }],
    ['by the page, but for its data', { owner: 'studio', path: 'app.tsx', imports: ['grpo'] }],
    ['in a room without a floor', { owner: 'grpo', path: 'attic/box.ts', imports: [] }],
  ])('would be refused %s', (_, source) => {
    expect(violations([source])).toHaveLength(1);
  });

  it('may lead down, sideways, and to libraries', () => {
    const imports = [
      '../errors/user-error.js',
      '../text/render.js',
      '../tasks/task.js',
      '@grpo/torch',
      'node:path',
      'zod',
    ];
    expect(violations([{ owner: 'grpo', path: 'step/grpo-step.ts', imports }])).toEqual([]);
  });

  it('lead in no circle', () => {
    expect(circles(sources)).toEqual([]);
  });

  it('would be refused in a circle', () => {
    const file = (path: string, imports: string[]): Source => ({ owner: 'grpo', path, imports });
    const files = [
      file('a/top.ts', ['./one.js', '../b/two.js', 'node:path']),
      file('a/one.ts', ['../b/two.js', './leaf.js']),
      file('b/two.ts', ['./three.js', '../a/leaf.js']),
      file('b/three.ts', ['../a/one.js']),
      file('a/leaf.ts', []),
      file('c/left.ts', ['./right.js']),
      file('c/right.ts', ['./left.js', '../a/top.js']),
    ];
    expect(circles(files)).toEqual([
      ['grpo: a/one.ts', 'grpo: b/three.ts', 'grpo: b/two.ts'],
      ['grpo: c/left.ts', 'grpo: c/right.ts'],
    ]);
  });
});

/** Sources of one folder, at most; what is in folders below does not count. */
const MOST = 22;

/** Folders with one entry per file: however many they are, none imports another. */
const CATALOGUES = ['grpo: doctor/faults', 'grpo: doctor/handovers'];

const folderOf = ({ owner, path }: Pick<Source, 'owner' | 'path'>) => `${owner}: ${posix.dirname(path)}`;

/** The folders of more than {@link MOST} sources. */
function largeFolders(sources: readonly Source[]): string[] {
  const counts = new Map<string, number>();
  for (const folder of sources.map(folderOf)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return [...counts.keys()].filter((folder) => counts.get(folder)! > MOST);
}

/** Imports between the entries of a catalogue. */
const importedEntries = (sources: readonly Source[]): string[] =>
  sources
    .filter((source) => CATALOGUES.includes(folderOf(source)))
    .flatMap(({ path, imports }) =>
      imports.filter((to) => posix.dirname(to) === '.').map((to) => `${path} imports ${to}`),
    );

describe('folders', () => {
  const sources = [...readSources('torch'), ...readSources('grpo'), ...readSources('studio')];

  it('whose parts call each other are small', () => {
    expect(largeFolders(sources).filter((folder) => !CATALOGUES.includes(folder))).toEqual([]);
  });

  it('that are catalogues have entries that do not import each other', () => {
    expect(importedEntries(sources)).toEqual([]);
  });

  it('would be refused', () => {
    const file = (path: string, imports: string[] = []): Source => ({ owner: 'grpo', path, imports });
    const files = Array.from({ length: MOST }, (_, i) => file(`attic/${i}.ts`));
    expect(largeFolders([...files, file('attic/below/22.ts')])).toEqual([]);
    expect(largeFolders([...files, file('attic/22.ts')])).toEqual(['grpo: attic']);
    const entries = [
      file('doctor/faults/b01.ts', ['./b02.js']),
      file('doctor/faults/b02.ts', ['../check.js']),
    ];
    expect(importedEntries(entries)).toEqual(['doctor/faults/b01.ts imports ./b02.js']);
  });
});

/** The rooms and files that the doctor's second version may import: none of them computes what it judges. */
const BELOW_RECOMPUTE =
  /^(doctor\/(recompute\/|inputs\.|groups\.)|maths\/|trace\/|config\/(choices|loss-names)\.)/;

const importsBeyond = ({ path, imports }: Pick<Source, 'path' | 'imports'>, allowed = BELOW_RECOMPUTE) =>
  imports
    .map((specifier) => (specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier))
    .filter((target) => !allowed.test(target));

describe('doctor/recompute', () => {
  const sources = readSources('grpo').filter(({ path }) => path.startsWith('doctor/recompute/'));

  it('imports nothing that computes a step: a fault in shared code would be invisible', () => {
    expect(sources.length).toBeGreaterThan(5);
    expect(sources.flatMap((source) => importsBeyond(source))).toEqual([]);
  });

  it.each(['../../objective/index.js', '../../config/derive.js', '../advantages.js', '@grpo/torch', 'zod'])(
    'would be refused %s',
    (specifier) => {
      expect(importsBeyond({ path: 'doctor/recompute/kl.ts', imports: [specifier] })).toHaveLength(1);
    },
  );

  it('is imported by the doctor, the audit, the view and the studio alone', () => {
    const users = readSources('grpo').filter(({ imports }) =>
      imports.some((specifier) => /(^|\/)recompute\/|\/doctor\/recompute/.test(specifier)),
    );
    const others = users.filter(({ path }) => !/^(doctor|audit|view|studio)\//.test(path));
    expect(others.map(({ path }) => path)).toEqual([]);
  });
});

/** Rooms from which the plain path may import. Of those that compute a step only the binding to libtorch is one. */
const BELOW_PLAIN = /^(audit\/plain\/|doctor\/recompute\/|maths\/|trace\/|config\/choices\.|@grpo\/torch$)/;

/** Calls of operators that are not libtorch's own. */
function ownOperatorCalls(text: string): string[] {
  const generated = readFileSync(join(SOURCES.torch, 'generated/ops.ts'), 'utf8');
  const own = [...generated.matchAll(/^export const (\w+) = bind\('grpo::/gm)].map(([, name]) => name!);
  return own.filter((name) => new RegExp(`\\b${name}\\(`).test(text));
}

describe('audit/plain', () => {
  const sources = readSources('grpo').filter(({ path }) => path.startsWith('audit/plain/'));

  it('shares nothing with what it is held to but the operators of libtorch', () => {
    expect(sources.length).toBeGreaterThan(4);
    expect(sources.flatMap((source) => importsBeyond(source, BELOW_PLAIN))).toEqual([]);
    const texts = sources.map(({ path }) => readFileSync(join(SOURCES.grpo, path), 'utf8'));
    expect(texts.flatMap(ownOperatorCalls)).toEqual([]);
  });

  it.each(['../../models/index.js', '../../objective/kl.js', '../../step/batch.js', '../audit.js'])(
    'would be refused %s',
    (specifier) => {
      const source = { path: 'audit/plain/plain-layer.ts', imports: [specifier] };
      expect(importsBeyond(source, BELOW_PLAIN)).toHaveLength(1);
    },
  );

  it('would be refused an operator of ours', () => {
    expect(ownOperatorCalls('const y = linear(x, weight).add(segmentAttention(q, k, v, rows));')).toEqual([
      'linear',
      'segmentAttention',
    ]);
  });
});
