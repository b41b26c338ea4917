/**
 * Compares our side with the runs that trl_live.py recorded, and exits 1 where a goal is missed.
 *
 *     node parity/trl_live.mjs DIR [--write]      after `npx tsc -b`; --write writes docs/parity.md
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { noGrad, tidy } from '../packages/torch/dist/index.js';
import { parityPage } from './trl_page.mjs';
import { Replay } from './trl_replay.mjs';

const DOC = fileURLToPath(new URL('../docs/parity.md', import.meta.url));
export const GOALS = { value: 1e-5, cosine: 0.99999, weight: 1e-6 };

const [dir, flag] = process.argv.slice(2);
if (!dir || (flag && flag !== '--write')) throw new Error('usage: node parity/trl_live.mjs DIR [--write]');

/** Each update from TRL's weights before it. */
function compareUpdates(replay) {
  const names = { missing: new Set(), extra: new Set() };
  for (let update = 0; update < replay.updates; update++) {
    replay.takeWeights(update);
    const metrics = replay.accumulate(update);
    replay.compareGradient(update);
    metrics.set('grad_norm', replay.gradNorm);
    const { missing, extra } = replay.compareMetrics(update, metrics);
    for (const name of missing) names.missing.add(name);
    for (const name of extra) names.extra.add(name);
    replay.optimizer.zeroGrad();
  }
  return { name: replay.record.name, updates: replay.updates, ...replay.differences, names };
}

/** All updates with our optimizer, from the weights that TRL began with. */
function followTrajectory(replay) {
  const { learning_rate, max_grad_norm } = replay.settings;
  for (let update = 0; update < replay.updates; update++) {
    replay.accumulate(update);
    replay.optimizer.step(learning_rate, max_grad_norm);
  }
  return tidy(() =>
    noGrad(() => {
      const begin = replay.theirs('weights.0');
      const end = replay.theirs(`weights.${replay.updates}`);
      const ours = [...replay.decoder.parameters.values()];
      const names = [...replay.decoder.parameters.keys()];
      const most = (a, b) => a.map((t, i) => Math.max(...t.sub(b[i]).abs().flatten().toNumbers()));
      const apart = most(ours, end);
      const total = ours.reduce((sum, t) => sum + t.numel, 0);
      const squares = end.reduce((sum, t, i) => sum + t.sub(begin[i]).pow(2).sum().item(), 0);
      return {
        name: replay.record.name,
        updates: replay.updates,
        apart: Math.max(...apart),
        where: names[apart.indexOf(Math.max(...apart))],
        moved: Math.max(...most(end, begin)),
        movedRms: Math.sqrt(squares / total),
        over: ours.reduce((sum, t, i) => sum + t.sub(end[i]).abs().gt(GOALS.weight).sum().item(), 0),
        total,
      };
    }),
  );
}

const files = readdirSync(dir)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length))
  .sort();
const runs = files.map((file) => compareUpdates(new Replay(dir, file)));
const trajectories = files
  .filter((file) => file.startsWith('trajectory'))
  .map((file) => followTrajectory(new Replay(dir, file)));
const { versions } = new Replay(dir, files[0]).record;
const page = parityPage({ runs, trajectories, versions, goals: GOALS });
if (flag) writeFileSync(DOC, page);
else console.log(page);

const isGood = (run) =>
  Math.max(run.loss, run.logps, run.old, run.reference, run.entropy) <= GOALS.value &&
  run.cosine >= GOALS.cosine &&
  [...run.metrics.values()].every((difference) => difference <= GOALS.value);
const missed = [...runs.filter((run) => !isGood(run)), ...trajectories.filter((t) => !(t.apart <= GOALS.weight))];
for (const { name } of missed) console.error(`a goal is missed: ${name}`);
process.exit(missed.length > 0 ? 1 : 0);
