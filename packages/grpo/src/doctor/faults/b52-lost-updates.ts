import { largest, withoutNaN } from '../../maths/moments.js';
import { longestRun } from '../../maths/trend.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { fail, notApplicable, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

const AN_UPDATE = 'updates.changedShare of an update with a gradient and a learning rate of 1e-8 or more';
/** Below this rate an update is less than half a unit in the last place even of float32: the end of a schedule. */
const LEAST_RATE = 1e-8;
/** Share of the elements with a gradient that may stay: measured on clean runs at below 0.01. */
const MOST_LOST = 0.5;
/** A move of weights that is small: as a share of the learning rate, and of the weights. */
const SMALL = { ofRate: 0.02, ofWeights: 1e-5 };
/** Share of the declared rate that the largest one is at least. */
const LEAST_OF_DECLARED = 0.02;
/** Times the declared rate that none is. */
const MOST_OF_DECLARED = 1.5;
/** Share of elements that an update changes. In float32 an element with a gradient changes; many embeddings have none. */
const LEAST_CHANGED = { half: 0.1, full: 0.01 };

export const b52: Fault = {
  code: 'B52',
  name: 'lost updates',
  title: 'Updates are rounded away',
  checks: [
    stepCheck({
      code: 'B52.weights',
      title: 'An update with a gradient changes weights',
      stage: 'optimizer',
      level: 7,
      rank: 2,
      threshold:
        'some element of the master weights changes, where there is a gradient and the learning rate is at least 1e-8',
      sources: ['inclusionAI/AReaL#1634'],
      remedy: 'Check that the optimizer holds the parameters that are trained, and its learning rate.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['firstUpdate'],
      test({ firstUpdate: { changedShare, gradNorm, learningRate, zeroGradients } }, { probes, producer }) {
        if (changedShare === undefined || !isUpdate(gradNorm, learningRate)) return notApplicable(AN_UPDATE);
        const [name = '', ...others] = probes?.leftOut ?? [];
        const left = name === '' ? 0 : 1 + others.length;
        // The recorder for TRL looks at the gradients after those of a clipping, and found none.
        const isCleared = producer?.name === 'trl' && zeroGradients === undefined;
        const measured = {
          changedShare,
          gradNorm: gradNorm!,
          learningRate: learningRate!,
          left,
          name,
          isCleared,
        };
        return changedShare === 0 ? fail(measured) : pass(measured);
      },
      says: (m) =>
        say`No weight changed in an update with gradient norm ${m.gradNorm} and learning rate ${m.learningRate}${m.left > 0 ? say`: the optimizer holds none of ${m.left} tensors that are to be trained, such as ${m.name}` : m.isCleared ? ': its gradients were there when their norm was taken, and gone when the optimizer stepped. A callback (on_pre_optimizer_step) may clear them' : ''}.`,
    }),
    stepCheck({
      code: 'B52.half',
      title: 'Weights of float16 have masters',
      stage: 'optimizer',
      level: 7,
      rank: 1,
      threshold: 'weights that are declared as float16 have float32 masters',
      why: 'AdamW squares the gradient, and float16 ends at 6e-8: in one run 98 % of the second moments were 0, and the second update threw a weight from 1.3 to 65.',
      remedy:
        'Load the model in float32 or bfloat16; fp16=True then computes in float16 and keeps float32 weights.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B52', 'B54', 'B49', 'B61', 'B53'],
      settles: 'The second moments of the optimizer, counted where they are 0.',
      proofs: ['TRL run'],
      needs: ['declared'],
      test({ declared: { dtype, masterWeights } }) {
        if (dtype === undefined || masterWeights === undefined)
          return notApplicable('declared.dtype and declared.masterWeights');
        return (dtype === 'float16' && !masterWeights ? warn : pass)({ dtype });
      },
      says: () =>
        'The weights are float16 and so are the optimizer’s moments: squares of small gradients are 0 there, and the next update divides by ε alone.',
    }),
    stepCheck({
      code: 'B52.lost',
      title: 'Updates are not rounded away',
      stage: 'optimizer',
      level: 7,
      rank: 2,
      threshold: `at least ${100 * LEAST_CHANGED.half} % of the elements of half-precision weights without float32 masters change, ${100 * LEAST_CHANGED.full} % of all others; half of the elements with a gradient, if these are known; measured on the masters if there are any`,
      sources: ['inclusionAI/AReaL#1634', 'huggingface/blog#3386', 'parity/trl_faults.py'],
      why: 'bfloat16 keeps 8 bits: a change below 1/256 of a weight is rounded away. In TRL runs with Adam 0.6 % of the weights changed at a learning rate of 1e-6, 5 % at 1e-5, 36 % at 1e-4, and 83 % in float32 at each of them.',
      remedy: 'Keep float32 master weights, or train in float32, or raise the learning rate.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B58'],
      settles: 'The weights before and after ten steps: the share of elements that differ.',
      proofs: ['native', 'TRL run'],
      needs: ['firstUpdate', 'declared'],
      test({
        firstUpdate: { changedShare, changedWeightShare, lostShare, gradNorm, learningRate },
        declared,
      }) {
        const share = declared.masterWeights === false ? (changedWeightShare ?? changedShare) : changedShare;
        if (share === undefined || !isUpdate(gradNorm, learningRate)) return notApplicable(AN_UPDATE);
        // Rounding leaves some.
        if (changedShare === 0) return notApplicable('an update that changes a weight (B52.weights)');
        const measured = {
          share,
          learningRate: learningRate!,
          dtype: declared.dtype ?? 'unknown',
          ...(lostShare !== undefined && { lostShare }),
        };
        const half = declared.masterWeights === false && /16$/.test(declared.dtype ?? '');
        const least = half ? LEAST_CHANGED.half : LEAST_CHANGED.full;
        return share < least || (lostShare ?? 0) > MOST_LOST ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`Only ${percent(m.share)} of the weights changed in an update (learning rate ${m.learningRate}, ${m.dtype})${m.lostShare === undefined ? '' : `; ${percent(m.lostShare)} of those with a gradient did not`}: rounding removed the rest.`,
    }),
    stepCheck({
      code: 'B52.small',
      title: 'An update moves weights by about its rate',
      stage: 'optimizer',
      level: 7,
      rank: 3,
      threshold: `an update moves the weights that have a gradient by ${percent(SMALL.ofRate)} of the learning rate or more, or by ${SMALL.ofWeights} of their size (root mean squares)`,
      why: 'Adam moves a weight by about its rate, whatever the size of the gradient is. Seen with adam_epsilon=1, which divides by 1 in place of the gradient’s size, and in SGD with a rate for Adam: nothing was learnt, and no number of the log said so.',
      remedy:
        'Look at the optimizer: its kind (SGD wants a rate that is thousands of times as large) and its ε (1e-8 as usual).',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'One weight before and after an update: the difference beside the learning rate.',
      proofs: ['TRL run'],
      needs: ['firstUpdate'],
      test({ firstUpdate: { moved, size, gradNorm, learningRate } }) {
        if (moved === undefined || size === undefined || !isUpdate(gradNorm, learningRate))
          return notApplicable('updates.moved of an update with a gradient');
        const measured = { moved, rate: learningRate!, share: moved / learningRate!, size };
        const isSmall = measured.share < SMALL.ofRate && moved < SMALL.ofWeights * size;
        return isSmall ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`An update moves weights by ${m.moved} (${m.share} of the learning rate ${m.rate}), where they are ${m.size} large: at this pace the run hardly changes the model.`,
    }),
    runCheck({
      code: 'B52.rate',
      title: 'The learning rate is about the declared one at its largest',
      stage: 'optimizer',
      level: 7,
      rank: 3,
      threshold: `no record has a rate of ${MOST_OF_DECLARED} times the declared one; and in three records or more the largest rate is ${percent(LEAST_OF_DECLARED)} of it or more, unless it still rises`,
      why: 'Seen in a schedule whose function gave the rate itself, where LambdaLR multiplies the declared rate by it (2.5e-7 in place of 5e-4), and in a least rate of a cosine that was ten times the declared one: the reward fell to a quarter.',
      remedy:
        'Look at the schedule and its settings (lr_scheduler_kwargs): LambdaLR and its like take a factor between 0 and 1, not a rate, and a least rate lies below the declared one.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30', 'B49', 'B61'],
      settles: 'The learning rate of the log, beside learning_rate of the configuration.',
      proofs: ['TRL run'],
      needs: ['firstUpdate', 'declared'],
      see: ({ firstUpdate: { learningRate }, declared: { optimizer } }, { step }) =>
        learningRate === undefined || !optimizer?.learningRate
          ? 'updates.learningRate and declared.optimizer.learningRate'
          : { step, rate: learningRate, declared: optimizer.learningRate },
      test(seen) {
        const rates = seen.map(({ value }) => value);
        const most = largest(rates.map(({ rate }) => rate));
        const { declared } = rates[0]!;
        const { step } = rates.find(({ rate }) => rate === most)!;
        const isProduct = Math.abs(most / declared ** 2 - 1) < 0.5;
        const measured = { most, declared, step, isProduct };
        if (most > MOST_OF_DECLARED * declared) return warn(measured, [{ step }]);
        if (rates.length < 3 || rates.at(-1)!.rate === most)
          return notApplicable('three records, of which not the last has the largest rate');
        return most < LEAST_OF_DECLARED * declared ? warn(measured) : pass(measured);
      },
      says: (m) =>
        m.most > m.declared
          ? say`The learning rate is ${m.most} at step ${m.step}, ${m.most / m.declared} times the declared ${m.declared}.`
          : say`The learning rate is ${m.most} at most, where ${m.declared} is declared${m.isProduct ? ': about the declared rate times itself, as where a schedule gives a rate in place of a factor' : ''}.`,
    }),
    logCheck({
      code: 'B52.log',
      title: 'The weights change over the run',
      stage: 'optimizer',
      level: 7,
      rank: 3,
      threshold:
        'reported when 20 training rewards in a row are equal to the last bit with a deviation above 0, or 5 evaluations in a row or more, over 20 steps or more, are equal to the last bit and neither 0 nor ±1, with a learning rate above 0; where reward, entropy or KL move, B58.still judges evaluations',
      sources: ['inclusionAI/AReaL#1634', 'workofart/ml-by-hand#85'],
      why: 'In another run an evaluation stayed at 0.1875 for 300 to 500 steps at learning rate 1e-7 in bfloat16.',
      remedy:
        'Keep float32 master weights, or raise the learning rate: bfloat16 rounds a change below 1/256 of a weight away.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B58'],
      settles:
        'The share of weights that differ after ten steps: if none changed, rounding (or a rate of 0) removed the updates.',
      proofs: ['log only'],
      needs: [],
      test(log) {
        const evaluated = log.series.entries.flatMap(({ step, values: { eval_reward: value } }) =>
          value === undefined ? [] : [{ step, value }],
        );
        const rewards = log.column('reward');
        if (evaluated.length === 0 && withoutNaN(rewards).length === 0)
          return notApplicable('reward, or eval_reward');
        const deviations = log.column('reward_std');
        const rates = withoutNaN(log.column('learning_rate'));
        if (rates.length > 0 && rates.every((rate) => rate === 0))
          return notApplicable('a learning rate above 0');
        // A reward that is never or always earned is constant in a healthy run too.
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
        const rate = log.declared.optimizer?.learningRate ?? (rates.length > 0 ? largest(rates) : undefined);
        const measured = {
          evaluationsAlike: still.length + Number(still.length > 0),
          rewardsAlike: same + Number(same > 0),
          ...(first && last && { value: first.value, steps: last.step - first.step }),
          ...(rate !== undefined && { rate }),
        };
        const between = log.course
          .pointsOf('learning_rate')
          .filter(({ step }) => step > (first?.step ?? 0) && step <= (last?.step ?? 0));
        // A schedule that is over changes nothing.
        const isOver = between.length > 0 && between.every(({ value }) => value === 0);
        const stuck = still.length >= 4 && last!.step - first!.step >= 20 && !log.course.moves && !isOver;
        const evidence = stuck ? [{ step: first!.step, values: { eval_reward: first!.value } }] : [];
        return stuck || same >= 19 ? warn(measured, evidence) : pass(measured);
      },
      says: (m) => {
        const rate = m.rate === undefined ? '' : say` at learning rate ${m.rate}`;
        return m.evaluationsAlike >= 5
          ? say`${m.evaluationsAlike} evaluations in a row, over ${m.steps} steps, are ${String(m.value)} to the last bit${rate}: the weights do not change. bfloat16 weights without a float32 copy round such updates away.`
          : say`${m.rewardsAlike} rewards in a row are equal to the last bit${rate}: the weights do not seem to change.`;
      },
    }),
  ],
};

/** A gradient that is not finite is skipped, as in float16. */
const isUpdate = (gradNorm = 0, learningRate = 0) =>
  gradNorm > 0 && Number.isFinite(gradNorm) && learningRate >= LEAST_RATE;
