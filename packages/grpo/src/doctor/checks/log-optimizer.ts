/** Logs: gradient, learning rate, and whether the run moves. */
import { logCheck } from '../check.js';
import { inform, notApplicable, pass, warn } from '../outcome.js';
import { largest } from '../statistics.js';
import { known, longestRun, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const optimizerLogChecks = [
  logCheck({
    code: 'B52.log',
    title: 'The run moves',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 7,
    threshold:
      'not: 20 training rewards in a row equal to the last bit with deviation above 0; not: 5 evaluations in a row or more, over 20 steps or more, equal to the last bit and neither 0 nor ±1, with a learning rate above 0',
    source: 'seed 001: 0.1875 for 300 to 500 steps at learning rate 1e-7 in bfloat16',
    remedy:
      'Keep float32 master weights, or raise the learning rate: bfloat16 rounds a change below 1/256 of a weight away.',
    consequence,
    induces: ['B58'],
    settles:
      'The share of weights that differ after ten steps: none moved is rounding (or a rate of 0); some moved, an evaluation that reads other weights.',
    needs: [],
    test(log) {
      const evaluated = log.series.entries.flatMap(({ step, values: { eval_reward: value } }) =>
        value === undefined ? [] : [{ step, value }],
      );
      const rewards = log.column('reward');
      if (evaluated.length === 0 && known(rewards).length === 0)
        return notApplicable('reward, or eval_reward');
      const deviations = log.column('reward_std');
      const rates = known(log.column('learning_rate'));
      if (rates.length > 0 && rates.every((rate) => rate === 0))
        return notApplicable('a learning rate above 0');
      // What is wholly missed or wholly earned stays so in health.
      const moves = (value: number) => value !== 0 && Math.abs(value) !== 1;
      const still = longestRun(
        evaluated.map(({ value }, i) => Number(i > 0 && value === evaluated[i - 1]!.value && moves(value))),
        (same) => same === 1,
      );
      const [first, last] = [evaluated[still.start - 1], evaluated[still.start + still.length - 1]];
      const same = longestRun(
        Array.from(rewards, (value, i) =>
          Number(i > 0 && value === rewards[i - 1] && moves(value) && deviations[i]! > 0),
        ),
        (equal) => equal === 1,
      ).length;
      const rate = log.declared.learningRate ?? (rates.length > 0 ? largest(rates) : undefined);
      const measured = {
        evaluationsAlike: still.length + Number(still.length > 0),
        rewardsAlike: same + Number(same > 0),
        ...(first && last && { value: first.value, steps: last.step - first.step }),
        ...(rate !== undefined && { rate }),
      };
      const stuck = still.length >= 4 && last!.step - first!.step >= 20;
      const evidence = stuck ? [{ step: first!.step, values: { eval_reward: first!.value } }] : [];
      return stuck || same >= 19 ? warn(measured, evidence) : pass(measured);
    },
  }),
  logCheck({
    code: 'B54.rate',
    title: 'The learning rate is above 0',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 7,
    threshold: 'not 0 in all entries',
    source: 'separates lost updates from a warm-up that never ends',
    remedy: 'Check schedule and warm-up against the number of steps.',
    consequence,
    induces: ['B52', 'B58'],
    settles: 'The schedule’s closed form.',
    needs: ['learning_rate'],
    test(log) {
      const rates = known(log.column('learning_rate'));
      const measured = { entries: rates.length, largest: largest(rates) };
      return measured.largest === 0 && rates.length >= 3 ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B54.gradient',
    title: 'The gradient norm does not run away',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 8,
    threshold:
      'from the 100th entry, or the middle of a shorter run, a moving average (10 entries) at most 5 × the median before it, in runs of 50 entries or more',
    source: 'seed 001; verl: a rising gradient norm points at a mismatch of sampler and trainer',
    remedy:
      'A smaller learning rate, a tighter clip; look at the KL and at the gap between sampler and trainer.',
    consequence: harmless,
    settles: 'Which term grows: policy, KL or entropy, in the records of two steps.',
    needs: ['grad_norm'],
    test(log) {
      const norms = known(log.column('grad_norm'));
      if (norms.length < 50) return notApplicable('50 entries');
      const begin = Math.min(100, norms.length >> 1);
      const usual = median(norms.slice(0, begin).filter((norm) => norm > 0));
      let [average, worst] = [usual, 0];
      for (const norm of norms.slice(begin)) {
        average += (norm - average) / 10;
        worst = Math.max(worst, average);
      }
      const measured = { entries: norms.length, usual, worst };
      return worst > 5 * usual ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B54.clipped',
    title: 'The gradient is not clipped on every step',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 8,
    threshold: 'norm above the declared clip in less than 95 % of 20 entries or more',
    source: 'seed 001: a norm of 24 against a clip of 1: the step is then lr ÷ norm',
    remedy: 'Nothing if the run learns; else raise the clip or lower the loss’s scale.',
    consequence: harmless,
    settles: 'A run with ten times the clip beside this one.',
    needs: ['grad_norm'],
    test(log) {
      const { maxGradNorm } = log.declared;
      const norms = known(log.column('grad_norm'));
      if (!maxGradNorm || norms.length < 20) return notApplicable('a declared clip, and 20 entries');
      const share = norms.filter((norm) => norm > maxGradNorm).length / norms.length;
      const measured = { entries: norms.length, clip: maxGradNorm, share };
      return share >= 0.95 ? inform(measured) : pass(measured);
    },
  }),
];
