/** `npm run mutants -- SEED COUNT [FOLDER]`: what share of drawn mistakes in the trainer the doctor stops. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runCampaign } from './campaign.js';
import { campaignText, countsOf, fateOf, outcomeLine } from './table.js';

const [seed, count] = process.argv.slice(2, 4).map(Number);
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(count)) {
  console.error('npm run mutants -- SEED COUNT [FOLDER]: two whole numbers, and where to keep what was done');
  process.exit(2);
}
const folder = resolve(process.argv[4] ?? join(tmpdir(), `grpo-mutants-${seed}`));
const interrupt = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupt.abort());
const result = await runCampaign({
  seed: seed!,
  count: count!,
  folder,
  signal: interrupt.signal,
  say: (text) => console.log(text),
  tried: (outcome, wrong) => console.log(`${wrong}/${count} ${outcomeLine(outcome)}`),
});
const outcomes = result.outcomes.map((outcome) =>
  outcome.effect === 'wrong' ? { ...outcome, fate: fateOf(outcome, result) } : outcome,
);
const json = { seed, counts: countsOf(result), configurations: result.configurations, outcomes };
writeFileSync(join(folder, 'mutants.json'), `${JSON.stringify(json, null, 1)}\n`);
console.log(`\n${campaignText(result)}\n\n${join(folder, 'mutants.json')}`);
