// Runs the demo with its controls for ten seeds and writes docs/demo.md: node bench/demo-table.mjs [seeds] [at once]
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const seeds = Number(process.argv[2] ?? 10);
const jobs = Number(process.argv[3] ?? 1);
const command = fileURLToPath(new URL('../packages/grpo/bin/grpo.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'grpo-demo-'));

/** The last line that the demo prints with --json. */
function demo(seed) {
  const args = [
    command,
    'demo',
    '--controls',
    '--json',
    `seed=${seed}`,
    `output=${join(folder, `seed-${seed}`)}`,
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code !== 0) reject(new Error(`seed ${seed}: the demo ended with ${code}`));
      else resolve(JSON.parse(output.trimEnd().split('\n').at(-1)));
    });
  });
}

const results = [];
let next = 0;
async function worker() {
  while (next < seeds) {
    const seed = next++;
    results[seed] = await demo(seed);
    console.log(seed, JSON.stringify(results[seed]));
  }
}
await Promise.all(Array.from({ length: jobs }, worker));

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const fixed = (value) => value.toFixed(3);
const columns = ['evalBefore', 'evalAfter', 'evalMoreSft', 'evalShuffled'];
const rows = results.map((r, seed) => `| ${seed} | ${columns.map((c) => fixed(r[c])).join(' | ')} |`);
const medians = `| median | ${columns.map((c) => fixed(median(results.map((r) => r[c])))).join(' | ')} |`;
const good = results.filter((r) => r.evalBefore <= 0.4 && r.evalAfter >= 0.85).length;

writeFileSync(
  fileURLToPath(new URL('../docs/demo.md', import.meta.url)),
  `# The demo and its controls

\`npm run demo\` makes a random model of 0.4 million weights, teaches it the form of an answer by SFT, and tunes it with
GRPO. The problems are sums of two numbers of two digits, worked column by column. The teacher of the SFT phase forgets
70 % of the carries: a model that imitates it forgets them too. GRPO has no teacher. It samples 16 answers to each of 16
problems and is told which are right.

\`npm run demo -- --controls\` adds two arms that start from the same SFT model and get the same compute:

- **more SFT**: further imitation of the same teacher;
- **shuffled rewards**: GRPO as before, but the rewards of a step are dealt out anew among its completions. Nothing can be
  learnt from them; an arm that learnt would show that the gain comes from somewhere else than the rewards.

Accuracy of greedy answers on 200 held-out problems, the same for all seeds; a 95 % interval is about ±0.06 at 0.25 and
±0.03 at 0.96.

| seed | SFT (before) | GRPO (after) | more SFT | shuffled rewards |
|---|---|---|---|---|
${rows.join('\n')}
${medians}

${good} of ${seeds} seeds go from at most 0.40 to at least 0.85. Made by \`node bench/demo-table.mjs\`.
`,
);
