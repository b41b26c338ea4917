/** Logs: lengths, loss, learning rate, and the numbers’ own consistency. */
import { logCheck } from '../check.js';
import { at } from '../log-view.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { largest } from '../statistics.js';
import { ends, known, longestRun, mannKendall, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const runLogChecks = [
  logCheck({
    code: 'B16.log',
    title: 'Completions end by themselves',
    stage: 'generation',
    kind: 'heuristic',
    level: 8,
    threshold:
      'not 95 % or more cut off in 3 entries in a row, from the first tenth of the run on; only informs where it is below a half in the end, or begins later: then B08.log tells whether it grew',
    source: 'seed 000 (1.0 throughout), trl#5697: a limit of 256 tokens cut 97 %',
    remedy:
      'Look at the last tokens of a completion: an end token that the sampler does not know, or an answer that needs more room.',
    consequence: harmless,
    induces: ['B26', 'B58'],
    settles: 'The set of end tokens that the engine used beside the template’s end of turn.',
    needs: ['completions/clipped_ratio'],
    test(log) {
      const cut = log.column('completions/clipped_ratio');
      const { start, length } = longestRun(cut, (share) => share >= 0.95);
      const fromStart = start <= cut.length / 10;
      const recovered = ends(cut).last < 0.5;
      const measured = { entries: known(cut).length, inARow: length, fromStart, recovered };
      if (length < 3) return pass(measured);
      const evidence = [at(log, start, 'completions/clipped_ratio', cut[start]!)];
      return fromStart && !recovered ? warn(measured, evidence) : inform(measured, evidence);
    },
  }),
  logCheck({
    code: 'B08.log',
    title: 'Completions do not unlearn to end',
    stage: 'generation',
    kind: 'heuristic',
    level: 8,
    threshold: 'share cut off not rising over 20 entries or more (Mann–Kendall z > 3) by more than 0.2',
    source: 'unsloth-zoo#832; a public run went from 0.5 to 1.0 in 200 steps',
    remedy: 'Check that the end token is inside the loss mask; then whether the reward prefers length.',
    consequence,
    settles:
      'The mask at the end token in a step’s record, and the probability of the end token where completions ended.',
    needs: ['completions/clipped_ratio'],
    test(log) {
      const cut = known(log.column('completions/clipped_ratio'));
      if (cut.length < 20) return notApplicable('20 entries');
      const { z } = mannKendall(cut);
      const { first, last } = ends(cut);
      const rise = last - first;
      const measured = { entries: cut.length, z, rise };
      return z > 3 && rise > 0.2 ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B59.metrics',
    title: 'Metrics that tell one thing agree',
    stage: 'configuration',
    kind: 'identity',
    level: 6,
    threshold: 'min ≤ mean ≤ max length; all cut off ⇔ mean terminated length 0; within 1e-3',
    source: 'identity; seed 002: two monitors at 16.7 % and 50 % in one step',
    remedy: 'Trust neither until one is explained.',
    consequence: harmless,
    needs: ['completions/mean_length'],
    test(log) {
      const broken = log.series.entries.flatMap(({ step, values }): Evidence[] => {
        const v = (name: string) => values[`completions/${name}`];
        const [least, mean, most] = [v('min_length'), v('mean_length'), v('max_length')];
        const [cut, ended] = [v('clipped_ratio'), v('mean_terminated_length')];
        if (mean === undefined) return [];
        const lengths =
          (least !== undefined && least > mean + 1e-3) || (most !== undefined && most < mean - 1e-3);
        const ends = cut !== undefined && ended !== undefined && (cut === 1) !== (ended === 0);
        if (!lengths && !ends) return [];
        return [
          {
            step,
            text: lengths ? 'lengths' : 'clipped_ratio',
            values: { mean, ...(cut !== undefined && { cut }), ...(ended !== undefined && { ended }) },
          },
        ];
      });
      const measured = { entries: log.series.entries.length, broken: broken.length };
      return broken.length > 0 ? fail(measured, broken) : pass(measured);
    },
  }),
  logCheck({
    code: 'B45.log',
    title: 'Loss and gradient are numbers',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'finite in every entry that has them; in float16 a gradient that overflows is skipped, and does not count',
    source: 'identity; trl#3248',
    remedy:
      'Look at the step before: an empty mask, a ratio that overflowed, an advantage that is no number.',
    consequence,
    induces: ['B52', 'B54'],
    needs: [],
    test(log) {
      const names = log.declared.dtype === 'float16' ? ['loss'] : ['loss', 'grad_norm'];
      if (log.series.entries.every(({ values }) => names.every((name) => values[name] === undefined)))
        return notApplicable('loss, or grad_norm');
      const broken = log.series.entries.flatMap(({ step, values }): Evidence[] =>
        names.flatMap((name) =>
          values[name] !== undefined && !Number.isFinite(values[name])
            ? [{ step, text: name, values: { value: values[name]! } }]
            : [],
        ),
      );
      const measured = { entries: log.series.entries.length, broken: broken.length };
      return broken.length > 0 ? fail(measured, broken) : pass(measured);
    },
  }),
  logCheck({
    code: 'B45.zero-log',
    title: 'A loss of 0 is no fault by itself',
    stage: 'loss',
    kind: 'heuristic',
    level: 6,
    threshold:
      'loss exactly 0: with a gradient it is normal at ratio 1; without one, in 3 entries or more, there is nothing to train on; where the log has no gradient it cannot be told',
    source: 'trl#2703, trl#3452, open-r1#239: misreadings of a loss of 0',
    remedy: 'Read grad_norm and reward in place of the loss.',
    consequence: harmless,
    settles: 'grad_norm: above 0 the run learns.',
    needs: ['loss'],
    test(log) {
      const loss = log.column('loss');
      const zero = [...loss.keys()].filter((i) => loss[i] === 0);
      const norms = log.column('grad_norm');
      const told = zero.filter((i) => !Number.isNaN(norms[i]!));
      const measured = { entries: known(loss).length, zero: zero.length };
      if (zero.length === 0) return pass(measured);
      const evidence = zero.map((i): Evidence => ({ step: log.steps[i]!, values: { loss: 0 } }));
      if (told.length === 0) return inform(measured, evidence);
      const gradient = told.some((i) => norms[i]! > 0);
      // A step without differences in reward has neither, in health too.
      if (zero.length < known(loss).length) return pass({ ...measured, gradient });
      if (gradient) return inform({ ...measured, gradient });
      return zero.length < 3 ? pass({ ...measured, gradient }) : warn({ ...measured, gradient });
    },
  }),
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
  logCheck({
    code: 'B60.slow',
    title: 'Steps take about equally long',
    stage: 'performance',
    kind: 'heuristic',
    level: 8,
    threshold: 'from the third step on, at most 3 × the median, in more than a tenth of 10 entries or more',
    source: 'seed 003: 21.7 s, then 103.6 s; torchtitan#2823: recompilation by new shapes',
    remedy: 'Look at the stage times of a slow step: compilation, garbage, a judge that waits.',
    consequence: harmless,
    settles: 'Stage times of a slow and a usual step.',
    needs: ['step_time'],
    test(log) {
      const times = known(log.column('step_time')).slice(2);
      if (times.length < 10) return notApplicable('12 entries');
      const usual = median(times);
      const slow = times.filter((time) => time > 3 * usual).length;
      const measured = { entries: times.length, median: usual, slow };
      return slow > times.length / 10 ? inform(measured) : pass(measured);
    },
  }),
];
