/**
 * Compares our side with the runs that trl_live.py recorded, and exits 1 where a goal is missed.
 *
 *     node parity/trl_live.mjs DIR [--write]      after `npx tsc -b`; --write writes docs/parity.md
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { noGrad, tidy } from '../packages/torch/dist/index.js';
import { GOALS, parityPage } from './trl_page.mjs';
import { Replay } from './trl_replay.mjs';

const DOC = fileURLToPath(new URL('../docs/parity.md', import.meta.url));
const VECTORS = fileURLToPath(new URL('fixtures/objective.json', import.meta.url));

const [dir, flag] = process.argv.slice(2);
if (!dir || (flag && flag !== '--write')) throw new Error('usage: node parity/trl_live.mjs DIR [--write]');

/** Each update from TRL's weights before it. */
function compareUpdates(replay) {
  for (let update = 0; update < replay.updates; update++) {
    replay.takeWeights(update);
    const metrics = replay.accumulate(update);
    metrics.set('grad_norm', replay.compareGradient(update));
    replay.compareMetrics(update, metrics);
    replay.optimizer.zeroGrad();
  }
  const { name } = replay.record;
  return { name, updates: replay.updates, ...replay.differences, onlyTrl: replay.onlyTrl };
}

/** All updates with our optimizer, from the weights that TRL began with. */
function followTrajectory(replay) {
  const { learning_rate, max_grad_norm, seed } = replay.settings;
  for (let update = 0; update < replay.updates; update++) {
    replay.accumulate(update);
    replay.optimizer.step(learning_rate, max_grad_norm);
  }
  return noGrad(() =>
    tidy(() => {
      const end = replay.theirs(`weights.${replay.updates}`);
      const fromEnd = (weights) =>
        weights.flatMap((t, i) => t.sub(end[i]).to('float64').flatten().toNumbers().map(Math.abs));
      const ours = fromEnd([...replay.decoder.parameters.values()]);
      const moved = fromEnd(replay.theirs('weights.0'));
      return {
        name: replay.record.name,
        seed,
        updates: replay.updates,
        weights: ours.length,
        apart: largest(ours),
        above: ours.filter((x) => !(x <= GOALS.weight)).length,
        again: largest(fromEnd(replay.theirs('again'))),
        moved: largest(moved),
        movedRms: Math.sqrt(moved.reduce((sum, x) => sum + x * x, 0) / moved.length),
      };
    }),
  );
}

const largest = (values) => values.reduce((a, b) => Math.max(a, b), 0);

const updates = [];
const trajectories = [];
let versions;
for (const file of readdirSync(dir).sort()) {
  if (!file.endsWith('.json')) continue;
  const replay = new Replay(dir, file.slice(0, -'.json'.length));
  ({ versions } = replay.record);
  if (replay.record.kind === 'updates') updates.push(compareUpdates(replay));
  else trajectories.push(followTrajectory(replay));
  replay[Symbol.dispose]();
}
const { cases } = JSON.parse(readFileSync(VECTORS, 'utf8'));
const { page, missed } = parityPage({ updates, trajectories, versions, vectors: cases.length });
if (flag) writeFileSync(DOC, page);
else console.log(page);
for (const what of missed) console.error(`a goal is missed: ${what}`);
process.exit(missed.length > 0 ? 1 : 0);
