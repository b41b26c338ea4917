/** Logs: whether a rising reward is progress. */
import { logCheck } from '../check.js';
import { rewardNames } from '../log-view.js';
import { type Evidence, notApplicable, pass, warn } from '../outcome.js';
import { slope } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

export const progressLogChecks = [
  logCheck({
    code: 'B26.log',
    title: 'The reward does not rise while the task gets worse',
    stage: 'reward',
    kind: 'heuristic',
    level: 8,
    threshold:
      'over 50 entries or more, not: total reward rising (t > 2) while a reward for the answer falls (t < −2)',
    source: 'open-r1#255: accuracy from 0.16 to 0.06 while format rose from 0.48 to 0.86',
    remedy: 'Pay for form only where the answer is right, or make it a fraction of the answer’s reward.',
    consequence,
    settles: 'Completions with the highest reward, read.',
    needs: ['reward'],
    test(log) {
      const answers = rewardNames(log).filter((name) => /acc|correct|answer|right|solution/i.test(name));
      if (answers.length === 0) return notApplicable('a reward named for the answer');
      const total = slope(log.column('reward'));
      if (total.count < 50) return notApplicable('50 entries');
      const falling = answers.flatMap((name): Evidence[] => {
        const { t } = slope(log.column(`rewards/${name}/mean`));
        return t < -2 ? [{ text: name, values: { t } }] : [];
      });
      const measured = { entries: total.count, rewardT: total.t, falling: falling.length };
      return total.t > 2 && falling.length > 0 ? warn(measured, falling) : pass(measured);
    },
  }),
  logCheck({
    code: 'B58.log',
    title: 'Evaluation follows the training reward',
    stage: 'evaluation',
    kind: 'heuristic',
    level: 8,
    threshold:
      'not: training reward rising (t > 2) and evaluation falling over 5 evaluations or more (t < −2, below 10 of them t < −3)',
    source: 'seed 001: training +0.2025 while evaluation lost 1.6 %',
    remedy: 'Compare the two paths: prompt, decoding, parser; then suspect over-fitting.',
    consequence: { rerun: 'evaluation', checkpointsVoid: false },
    settles: 'One problem through both paths: ids, completion and grade must be equal.',
    needs: ['reward', 'eval_reward'],
    test(log) {
      const evaluation = slope(log.column('eval_reward'));
      if (evaluation.count < 5) return notApplicable('5 evaluations');
      const training = slope(log.column('reward'));
      const measured = { evaluations: evaluation.count, trainingT: training.t, evaluationT: evaluation.t };
      return training.t > 2 && evaluation.t < (evaluation.count < 10 ? -3 : -2)
        ? warn(measured)
        : pass(measured);
    },
  }),
];
