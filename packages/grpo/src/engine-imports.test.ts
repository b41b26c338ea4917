import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url));

/**
 * What runs without libtorch and without loading `@grpo/torch`: whole rooms, and files. A command that reads files and
 * loads no model belongs here; one that may need the engine after all imports it where it does, as `env` does.
 */
const WITHOUT_ENGINE = [
  'config/',
  'formats/',
  'hub/',
  'trace/',
  'doctor/',
  'studio/',
  'sinks/',
  'text/',
  'memory/',
  'rewards/',
  'reward-exports.ts',
  'tasks/',
  'processes/launch.ts',
  'processes/rendezvous.ts',
  'cs336/command-line/',
  'cli/main.ts',
  'cli/diff/',
  'cli/doctor/run.ts',
  'cli/env/run.ts',
  'inspection/inspect-model.ts',
  'cli/explain/',
  'cli/fetch/',
  'cli/inspect/run.ts',
  'cli/setup/',
  'cli/studio/',
  'cli/train/processes.ts',
  'cli/data/',
  'cli/reward/',
];

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll(sep, '/'))
  .filter((path) => path.endsWith('.ts') && !/\.test(\.\w+)?\.ts$/.test(path));

/** What a module loads as soon as it is loaded itself: no types, and no `import()`. */
function loadedBy(text: string): string[] {
  const { statements } = ts.createSourceFile('module.ts', text, ts.ScriptTarget.Latest);
  return statements.flatMap((statement) => {
    const isImport = ts.isImportDeclaration(statement) && statement.importClause?.phaseModifier !== TYPE;
    const isExport = ts.isExportDeclaration(statement) && !statement.isTypeOnly;
    if (!(isImport || isExport) || !statement.moduleSpecifier) return [];
    return [(statement.moduleSpecifier as ts.StringLiteral).text];
  });
}
const TYPE = ts.SyntaxKind.TypeKeyword;

const loaded = new Map(files.map((path) => [path, loadedBy(readFileSync(join(SOURCES, path), 'utf8'))]));

/** How a module comes to load the engine, file by file; undefined when it does not. */
function wayToEngine(path: string, seen = new Set<string>()): string[] | undefined {
  if (seen.has(path)) return undefined;
  seen.add(path);
  for (const specifier of loaded.get(path)!) {
    if (specifier === '@grpo/torch') return [path, specifier];
    if (!specifier.startsWith('.')) continue;
    const next = join(dirname(path), specifier).replaceAll(sep, '/').replace(/\.js$/, '.ts');
    const way = wayToEngine(next, seen);
    if (way) return [path, ...way];
  }
  return undefined;
}

it.each(WITHOUT_ENGINE)('%s loads no engine', (entry) => {
  const covered = files.filter((path) => path === entry || (entry.endsWith('/') && path.startsWith(entry)));
  expect(covered).not.toEqual([]);
  expect(covered.flatMap((path) => wayToEngine(path)?.join(' → ') ?? [])).toEqual([]);
});

it('would notice one', () => {
  expect(wayToEngine('cli/train/run.ts')?.at(-1)).toBe('@grpo/torch');
  const text = [
    "import type { Tensor } from 'a';",
    "import { type Tensor } from 'b';",
    "export type { Tensor } from 'c';",
    "export * from 'd';",
    "import 'e';",
    "const engine = () => import('f');",
  ];
  // With verbatimModuleSyntax an import of types in braces still loads its module.
  expect(loadedBy(text.join('\n'))).toEqual(['b', 'd', 'e']);
});
