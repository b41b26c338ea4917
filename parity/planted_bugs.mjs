/**
 * docs/planted-bugs.md: what `grpo doctor` says first of bugs that were planted in two trainers, from the recorded runs in
 * fixtures/torch-loop and fixtures/trl-run.
 *
 *     npx tsc -b && node parity/planted_bugs.mjs            # prints the table
 *     npx tsc -b && node parity/planted_bugs.mjs --write    # writes the page
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { examine } from '../packages/grpo/dist/doctor/examine.js';
import { registry } from '../packages/grpo/dist/doctor/registry.js';
import { readStepRecord } from '../packages/grpo/dist/trace/index.js';

const WORDS = { fail: 'FAIL', warn: 'WARN', inform: 'note' };

/** Bugs by the name of their run; of the second name in TRL where it has another. */
const BUGS = [
  ['other-template', 'the policy is scored behind another template than it was sampled from'],
  ['prompt-penalty', 'penalties count the prompt’s tokens'],
  ['raw-prompts', 'loss and KL take the raw prompt, generation the rendered one'],
  ['cut-by-count', 'completions are cut out by the number of the prompt’s tokens, and graded with its end'],
  ['right-pad-mask', 'the mask of the completion is placed as if padding were on the right'],
  ['gather', 'the log-probs of all tokens are read from the first row of logits'],
  ['train-mode', 'the policy is scored with dropout, the reference without', 'dropout'],
  ['bf16-lost', 'bfloat16 weights lose the updates of a small learning rate', 'lost-updates'],
  ['entropy-sign', 'the entropy bonus is added to the loss'],
  ['retokenised', 'completions are normalised and encoded again before they are scored'],
  ['no-end', 'the mask leaves out the end token'],
  ['double-bos', 'the BOS of the template and that of the tokenizer both begin the prompt'],
  ['base-reference', 'the reference is not the model that the run began with'],
];

function firstLine(run) {
  const folder = fileURLToPath(new URL(`fixtures/${run}/steps/000001`, import.meta.url));
  const [finding] = examine({ records: [readStepRecord(folder)] }, registry).findings;
  if (!finding) return 'nothing';
  const says = registry.find(({ code }) => code === finding.code).says(finding.measured);
  return `**${WORDS[finding.severity]}** ${says.replaceAll('|', '\\|').replaceAll('\n', '⏎')} (${finding.code})`;
}

const rows = BUGS.map(([name, what, inTrl = name]) => [
  what,
  firstLine(`torch-loop/${name}`),
  firstLine(`trl-run/${inTrl}`),
]);
const table = [
  '| planted | in a trainer in plain PyTorch | in TRL |',
  '| --- | --- | --- |',
  ...rows.map((row) => `| ${row.join(' | ')} |`),
].join('\n');
const page = `# Planted bugs, and what the doctor says first

Written by \`parity/planted_bugs.mjs\`; not edited by hand. Each bug was planted into a trainer of a hundred lines
([torch_loop.py](../parity/torch_loop.py)) and, by a subclass of \`GRPOTrainer\` or a setting, into TRL
([trl_faults.py](../parity/trl_faults.py)). What stands in a row is the first sentence that \`grpo doctor\` prints of the first
step of that run; without a bug it finds nothing in either.

${table}
`;

if (process.argv.includes('--write'))
  writeFileSync(new URL('../docs/planted-bugs.md', import.meta.url), page);
else process.stdout.write(`${table}\n`);
