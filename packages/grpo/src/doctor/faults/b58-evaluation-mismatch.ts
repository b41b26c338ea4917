import { withoutNaN } from '../../maths/moments.js';
import { slope } from '../../maths/trend.js';
import { logCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { fromTheStart } from '../log-view.js';
import { notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

export const b58: Fault = {
  code: 'B58',
  name: 'evaluation mismatch',
  title: 'Evaluation does not measure what is trained',
  left: 'pre-flight',
  checks: [
    logCheck({
      code: 'B58.log',
      title: 'Evaluation follows the training reward',
      stage: 'evaluation',
      kind: 'heuristic',
      level: 8,
      rank: 3,
      threshold:
        'reported when the training reward rises (t > 2) and the evaluation falls over 5 evaluations or more (t < −2; with fewer than 10, t < −3)',
      sources: [],
      why: 'Seen in a run whose training reward rose by 0.2025 while its evaluation lost 1.6 %.',
      remedy:
        'Compare the prompt, decoding and parser of training and evaluation; then suspect over-fitting.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      settles: 'One problem through training and evaluation: ids, completion and grade must be equal.',
      proofs: [],
      needs: ['reward', 'eval_reward'],
      test(log) {
        const evaluation = slope(log.column('eval_reward'));
        if (evaluation.count < 5) return notApplicable('5 evaluations');
        const training = slope(log.column('reward'));
        const evaluated = withoutNaN(log.column('eval_reward'));
        const measured = {
          evaluations: evaluation.count,
          trainingT: training.t,
          evaluationT: evaluation.t,
          first: evaluated[0]!,
          last: evaluated.at(-1)!,
        };
        return training.t > 2 && evaluation.t < (evaluation.count < 10 ? -3 : -2)
          ? warn(measured)
          : pass(measured);
      },
      says: (m) =>
        say`The evaluation goes from ${m.first} to ${m.last} in ${m.evaluations} evaluations and falls, while the training reward rises: what is learnt is not what is evaluated.`,
    }),
    logCheck({
      code: 'B58.still',
      title: 'The evaluation is of the model that is trained',
      stage: 'evaluation',
      kind: 'heuristic',
      level: 8,
      rank: 3,
      threshold:
        'reported when 5 evaluations or more give exactly the same, neither 0 nor ±1, while reward, entropy or KL move beyond the noise; if they stand still, B52.log judges',
      sources: [],
      why: 'Seen in a loop whose evaluator kept the first weights.',
      remedy: 'Hand the present weights to the evaluator before each evaluation; clear its caches.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      settles: 'A hash of the evaluator’s weights at two evaluations: it differs.',
      proofs: [],
      needs: ['eval_reward'],
      test(log) {
        const evaluated = withoutNaN(log.column('eval_reward'));
        if (evaluated.length < 5) return notApplicable('5 evaluations');
        const value = evaluated[0]!;
        const measured = { evaluations: evaluated.length, value };
        const isStill = value !== 0 && Math.abs(value) !== 1 && evaluated.every((other) => other === value);
        return isStill && log.course.moves
          ? warn(measured, fromTheStart(log, 'eval_reward'))
          : pass(measured);
      },
      says: (m) =>
        say`All ${m.evaluations} evaluations give exactly ${m.value}, while the policy changes: the evaluator has other weights than the trainer, or answers from a cache.`,
    }),
  ],
};
