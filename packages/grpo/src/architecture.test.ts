import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/** The floors of docs/architecture.md, lowest first. `index` is the library's face, `packages/grpo/src/index.ts`. */
const FLOORS: readonly (readonly string[])[] = [
  ['errors', 'maths', 'progress'],
  ['formats'],
  ['config', 'hub'],
  ['trace'],
  ['doctor'],
  ['torch'],
  ['text', 'models', 'memory'],
  ['rollout', 'objective', 'rewards'],
  ['tasks'],
  ['train'],
  ['library', 'lab', 'cs336'],
  ['index'],
  ['cli'],
];

const SOURCES = {
  grpo: fileURLToPath(new URL('../src/', import.meta.url)),
  torch: fileURLToPath(new URL('../../torch/src/', import.meta.url)),
};

/** A source file by its package and its path in that package's sources, with what it imports. */
interface Source {
  owner: keyof typeof SOURCES;
  path: string;
  imports: readonly string[];
}

/** Test files may look into every room. */
const isTest = (path: string) => /\.test(\.\w+)?\.ts$/.test(path);

function readSources(owner: Source['owner']): Source[] {
  return readdirSync(SOURCES[owner], { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !isTest(path))
    .map((path) => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(SOURCES[owner], path), 'utf8'));
      return { owner, path: path.replaceAll(sep, '/'), imports: importedFiles.map((file) => file.fileName) };
    });
}

/** The room of a file; the engine is one room. */
function roomOf(owner: Source['owner'], path: string): string {
  if (owner === 'torch') return 'torch';
  const [first, ...rest] = path.split('/') as [string, ...string[]];
  return rest.length > 0 ? first : first.replace(/\.[jt]s$/, '');
}

/** The room that an import leads to; undefined for Node's modules and libraries. */
function roomOfImport({ owner, path }: Source, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return roomOf(owner, join(dirname(path), specifier).replaceAll(sep, '/'));
  if (/^@grpo\/torch(\/|$)/.test(specifier)) return 'torch';
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
      if (floorOf(other) < 0) return [`${where} imports ${specifier}: ${other} has no floor`];
      return floorOf(other) > floorOf(room)
        ? [`${where} imports ${specifier}: ${other} is above ${room}`]
        : [];
    });
  });
}

describe('imports', () => {
  const sources = [...readSources('torch'), ...readSources('grpo')];

  it('are read from every room', () => {
    const rooms = new Set(sources.map(({ owner, path }) => roomOf(owner, path)));
    expect([...rooms].sort()).toEqual(FLOORS.flat().sort());
    const cli = sources.find(({ path }) => path === 'cli/table.ts');
    expect(cli?.imports).toContain('./train/info.js');
  });

  it('go down the floors and stay inside their package', () => {
    expect(violations(sources)).toEqual([]);
  });

  it.each<[string, Source]>([
    ['to a room above', { owner: 'grpo', path: 'objective/loss.ts', imports: ['../train/step.js'] }],
    ['of the engine below it', { owner: 'grpo', path: 'formats/json.ts', imports: ['@grpo/torch'] }],
    ['of the product by the engine', { owner: 'torch', path: 'tensor.ts', imports: ['grpo'] }],
    ['of the command by the library', { owner: 'grpo', path: 'index.ts', imports: ['./cli/version.js'] }],
    ['out of the package', { owner: 'grpo', path: 'cli/main.ts', imports: ['../../../torch/src/index.js'] }],
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
    expect(violations([{ owner: 'grpo', path: 'train/step.ts', imports }])).toEqual([]);
  });
});
