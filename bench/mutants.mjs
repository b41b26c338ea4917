/**
 * Bugs that nobody chose: mutants of the trainer, one after another, each in a short run, and what the run says of itself.
 *
 *     npx tsc -b && node bench/mutants.mjs MODEL OUTPUT [--count 40] [--seed 1] [KEY=VALUE ...]
 *
 * MODEL is a folder such as the demo's SFT checkpoint; settings are those of `grpo train`. A place is drawn from the compiled
 * JavaScript that the run without a bug executes, and one operator, number, condition or call there is changed. A mutant is
 * equal when all that the run computed is what the run without it computed; named when a finding fails or warns; an error
 * when the run ends with one; silent otherwise. OUTPUT/mutants.jsonl has them all.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string', default: '40' }, seed: { type: 'string', default: '1' } },
});
const [model, output, ...settings] = positionals;
if (!output)
  throw new Error('usage: node bench/mutants.mjs MODEL OUTPUT [--count N] [--seed N] [KEY=VALUE ...]');
const root = fileURLToPath(new URL('..', import.meta.url));
mkdirSync(output, { recursive: true });

/** What computes: not what checks, prints, reads settings or writes files. */
const MUTATED =
  /packages\/(grpo\/dist\/(step|rollout|objective|rewards|text|models|tasks|evaluation)|torch\/dist)\/.*\.js$/;
/** What only fits arguments together or reads files, where a mistake ends in an error at once. */
const NOT_MUTATED =
  /\/(audit|canaries|folder|scope|native|dispatch|guards|describe|schema|arguments|create|memory|runtime)[/.]|\/(tokenizer|config|byte-alphabet|sentencepiece|chat-template)[^/]*$/;

const loader = join(output, 'loader.mjs');
writeFileSync(
  loader,
  `import { readFileSync } from 'node:fs';
import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(\`
  import { readFileSync } from 'node:fs';
  export async function load(url, context, next) {
    if (url !== process.env.MUTANT_URL) return next(url, context);
    return { format: 'module', source: readFileSync(process.env.MUTANT_SOURCE, 'utf8'), shortCircuit: true };
  }\`));
`,
);

/** Trains, and gives the exit code, what was printed, and a checksum of what was computed. */
function train(env) {
  const run = join(output, 'run');
  rmSync(run, { recursive: true, force: true });
  const args = ['train', `model=${model}`, `output=${run}`, ...settings];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'packages/grpo/bin/grpo.js'), ...args],
    {
      env: { ...process.env, NO_COLOR: '1', ...env },
      encoding: 'utf8',
      timeout: 120_000,
    },
  );
  const hash = createHash('sha256');
  for (const name of ['metrics.jsonl', 'completions.jsonl', 'eval.jsonl'])
    if (existsSync(join(run, name))) hash.update(readFileSync(join(run, name)));
  const checkpoints = join(run, 'checkpoints');
  for (const step of existsSync(checkpoints) ? readdirSync(checkpoints).sort() : [])
    for (const name of ['model.safetensors', 'trainer/optimizer.safetensors'])
      if (existsSync(join(checkpoints, step, name))) hash.update(readFileSync(join(checkpoints, step, name)));
  return { status, text: stdout + stderr, hash: hash.digest('hex') };
}

/** Byte ranges of each file that the run without a bug executes. */
function executedRanges() {
  const folder = join(output, 'coverage');
  rmSync(folder, { recursive: true, force: true });
  const plain = train({ NODE_V8_COVERAGE: folder });
  if (plain.status !== 0) throw new Error(`the run without a bug ended with ${plain.status}:\n${plain.text}`);
  const files = new Map();
  for (const name of readdirSync(folder))
    for (const { url, functions } of JSON.parse(readFileSync(join(folder, name), 'utf8')).result)
      if (MUTATED.test(url) && !NOT_MUTATED.test(url.slice(url.indexOf('/dist/'))))
        files.set(url, [
          ...(files.get(url) ?? []),
          // The first is the module itself.
          ...functions.slice(1).flatMap(({ ranges }) => ranges),
        ]);
  return { files, plain };
}

/** The innermost range decides. */
function isExecuted(ranges, position) {
  let innermost;
  for (const range of ranges)
    if (range.startOffset <= position && position < range.endOffset)
      if (!innermost || range.endOffset - range.startOffset <= innermost.endOffset - innermost.startOffset)
        innermost = range;
  return innermost !== undefined && innermost.count > 0;
}

const OPERATORS = {
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '<': ['<=', '>='],
  '<=': ['<'],
  '>': ['>=', '<='],
  '>=': ['>'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '%': ['*'],
};

/** All changes of one place: where, how long, and what comes in its stead. */
function changesOf(source) {
  const changes = [];
  const file = ts.createSourceFile('x.js', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const put = (node, text) => changes.push({ start: node.getStart(), end: node.end, text });
  const visit = (node) => {
    if (ts.isThrowStatement(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isBinaryExpression(node))
      for (const other of OPERATORS[node.operatorToken.getText()] ?? []) put(node.operatorToken, other);
    if (ts.isNumericLiteral(node)) put(node, String(Number(node.text) + 1));
    if (ts.isNumericLiteral(node) && Number(node.text) > 0) put(node, String(Number(node.text) - 1));
    if (node.kind === ts.SyntaxKind.TrueKeyword) put(node, 'false');
    if (node.kind === ts.SyntaxKind.FalseKeyword) put(node, 'true');
    if (ts.isConditionalExpression(node)) put(node.condition, `!(${node.condition.getText()})`);
    if (ts.isIfStatement(node) && !ts.isThrowStatement(node.thenStatement))
      put(node.expression, `!(${node.expression.getText()})`);
    if (ts.isPrefixUnaryExpression(node) && /^[-!]/.test(node.getText())) put(node, node.operand.getText());
    if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) put(node, ';');
    if (ts.isCallExpression(node) && node.arguments.length > 1) {
      const [a, b] = node.arguments;
      changes.push({ start: a.getStart(), end: b.end, text: `${b.getText()}, ${a.getText()}` });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return changes;
}

let state = Number(values.seed) >>> 0;
/** Numbers of [0, 1): mulberry32. */
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

const { files, plain } = executedRanges();
const again = train({});
if (again.hash !== plain.hash)
  throw new Error('two runs without a bug differ: mutants could not be told from them');
const places = [...files].flatMap(([url, ranges]) => {
  const source = readFileSync(fileURLToPath(url), 'utf8');
  return changesOf(source)
    .filter(({ start }) => isExecuted(ranges, start))
    .map((change) => ({ url, source, change }));
});
process.stderr.write(`${places.length} changes of ${files.size} files\n`);

const counts = {};
for (let i = 0; i < Number(values.count); i++) {
  const { url, source, change } = places[Math.floor(random() * places.length)];
  const mutant = join(output, 'mutant.js');
  writeFileSync(mutant, source.slice(0, change.start) + change.text + source.slice(change.end));
  const { status, text, hash } = train({
    NODE_OPTIONS: `--import ${pathToFileURL(loader)}`,
    MUTANT_URL: url,
    MUTANT_SOURCE: mutant,
  });
  const said = [...text.matchAll(/^.*\b[BH]\d\d\.\S+ (fail|warn)\b.*/gm)].map(([line]) => line.slice(0, 200));
  const verdict =
    hash === plain.hash && status === 0
      ? 'equal'
      : said.length > 0
        ? 'named'
        : status !== 0
          ? 'error'
          : 'silent';
  counts[verdict] = (counts[verdict] ?? 0) + 1;
  const line = source.slice(0, change.start).split('\n').length;
  const was = source.slice(change.start, change.end).slice(0, 80);
  const context = source.split('\n')[line - 1].trim().slice(0, 120);
  const where = `${url.slice(url.indexOf('/packages/') + 1)}:${line}`;
  const end = text.trim().split('\n').slice(-3).join(' | ').slice(0, 300);
  appendFileSync(
    join(output, 'mutants.jsonl'),
    `${JSON.stringify({ i, verdict, where, was, now: change.text.slice(0, 80), context, status, said, end })}\n`,
  );
  process.stdout.write(
    `${i} ${verdict} ${where} ${was} → ${change.text.slice(0, 60)}${said[0] ? `: ${said[0]}` : ''}\n`,
  );
}
process.stdout.write(`${JSON.stringify(counts)}\n`);
