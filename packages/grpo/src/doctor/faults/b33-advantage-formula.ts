import { largest, withoutNaN } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { at } from '../log-view.js';
import { explanationOf } from '../measures/advantages.js';
import { asDeclared, BASELINE, isCentred, isEqual } from '../measures/group-advantages.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { quote, say } from '../sentence.js';

/** Largest advantage that equal rewards may give: the rounding error of the mean, divided by ε. */
const LEAK = 0.01;

/** Advantages beyond this, and so many times the rewards, are a deviation of nearly 0. */
const [EXTREME, TIMES] = [100, 20];

/** The formula of advantages that are not the declared ones. */
type Miss = {
  fits: string;
  bound?: number;
  baseline?: string;
  scale?: string;
  epsilon?: number;
  ddof?: number;
  groups?: number;
  off?: number;
  factor?: number;
};

export const b33: Fault = {
  code: 'B33',
  name: 'advantage formula',
  title: 'The standard deviation, ε or clip is not as declared',
  checks: [
    stepCheck({
      code: 'B33.recompute',
      title: 'Advantages recomputed from the rewards equal the recorded advantages',
      stage: 'advantage',
      level: 5,
      rank: 2,
      threshold:
        'within 2e-3, plus float32 rounding, of (r − baseline) / (std + ε), or / mean for scale mean, with the declared baseline, scale, ε, ddof, floor, treatment of flat groups, combination of rewards, whitening and clip; any usual value for a setting that is not declared; only informs if no scale is declared',
      sources: ['arXiv:2402.03300', 'huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'TRL uses ddof 1 and adds ε = 1e-4 to the standard deviation.',
      remedy: 'Compare the mean, standard deviation, ε and clip in the code with the declared ones.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['totals', 'advantages', 'promptOf', 'declared'],
      test(given, record): Outcome<Miss> {
        const explanation = explanationOf(record);
        if (explanation.kind === 'lacking') return notApplicable(explanation.what);
        if (explanation.kind === 'nothing')
          return asDeclared(given.declared, { fits: 'none of the known ways' });
        if (explanation.kind === 'some groups') {
          const { groups, off } = explanation;
          const [first] = off;
          const evidence = off.map(({ group: [b = 0] }) => ({
            prompt: given.promptOf[b]!,
            completion: b,
            values: { reward: given.totals[b]!, advantage: given.advantages[b]! },
          }));
          const { factor } = first!;
          const miss = {
            fits: 'some groups',
            groups,
            off: off.length,
            ...(factor !== undefined && { factor }),
          };
          return asDeclared(given.declared, miss, evidence);
        }
        if (explanation.kind === 'clipped')
          return asDeclared(given.declared, { fits: 'clipped', bound: explanation.bound });
        if (explanation.kind === 'not clipped')
          return fail({ fits: 'not clipped', bound: explanation.bound });
        if (explanation.kind === 'turned') return fail({ fits: 'the other sign' });
        if (explanation.kind !== 'recipe') return pass({ fits: explanation.kind });
        const { baseline, scale, epsilon, ddof } = explanation.recipe;
        return fail({ fits: 'another recipe', baseline, scale, epsilon, ddof });
      },
      says: (m) =>
        m.fits === 'not clipped'
          ? say`The advantages go up to ±${m.bound}: they are not clipped as declared.`
          : m.bound !== undefined
            ? say`The advantages are clipped at ±${m.bound}, which is not declared.`
            : m.off !== undefined
              ? say`The advantages of ${m.off} of ${m.groups} groups do not match the formula that those of the others follow${m.factor === undefined ? '' : say`: in the first of them each is ${m.factor} times what it gives`}. Their mean or deviation is that of other rewards than their own.`
              : m.fits === 'the other sign'
                ? 'The advantages are the declared ones with the other sign: what earns more is made less likely.'
                : m.scale === undefined
                  ? 'The advantages match no known formula of the rewards.'
                  : say`The advantages do not match the declared formula; they fit baseline ${quote(m.baseline!)}, scale ${quote(m.scale)}, ε ${m.epsilon}, ddof ${m.ddof}.`,
    }),
    stepCheck({
      code: 'B33.leak',
      title: 'Equal rewards give no advantage',
      stage: 'advantage',
      level: 5,
      rank: 2,
      threshold: `|A| ≤ ${LEAK} in a group of equal rewards`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'With an ε of 1e-8 the rounding error of the mean becomes an advantage of order 1; with TRL’s 1e-4 it reaches 0.005 at most.',
      remedy:
        'Set the advantages to 0 in a group whose largest and smallest reward are equal; use an ε of 1e-4.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The rewards of the group in full precision: differences below 1e-6 are rounding.',
      proofs: ['native'],
      needs: ['totals', 'advantages', 'promptOf'],
      test({ totals, advantages, promptOf }, { declared = {} }) {
        if (!isCentred(declared)) return notApplicable(BASELINE);
        // Equal sums of rewards that differ one by one.
        if (declared.advantage?.combine === 'normalize_then_sum')
          return notApplicable('advantages of totals');
        const flat = groupsOf(promptOf).filter((group) => {
          return group.length > 1 && isEqual(group.map((b) => totals[b]!));
        });
        if (flat.length === 0) return notApplicable('a group of equal rewards');
        const leaking = flat.flatMap((group): Evidence[] => {
          const most = largest(group.map((b) => Math.abs(advantages[b]!)));
          return most > LEAK ? [{ prompt: promptOf[group[0]!]!, values: { advantage: most } }] : [];
        });
        const most = largest(leaking.map(({ values }) => values!.advantage as number));
        const measured = { flat: flat.length, leaking: leaking.length, ...(leaking.length > 0 && { most }) };
        return leaking.length > 0 ? warn(measured, leaking) : pass(measured);
      },
      says: (m) =>
        say`In ${m.leaking} of ${m.flat} groups of equal rewards the advantages are not 0, but up to ${m.most}: a small ε amplifies rounding errors, or they come from other rewards.`,
    }),
    logCheck({
      code: 'B33.extreme',
      title: 'No advantage is far larger than rewards can make it',
      stage: 'advantage',
      level: 5,
      rank: 4,
      threshold: `largest |A| of an entry at most ${EXTREME}, or ${TIMES} × the largest of |reward| and its deviation in the log; only informs where the log has neither`,
      sources: ['NVIDIA-NeMo/RL#4161'],
      why: 'Divided by their deviation, the advantages of G completions are at most √G; not divided, they are within the range of the rewards.',
      remedy:
        'Set the advantages of a group of equal rewards to 0, and add ε to the deviation: one of other completions alone may be a rounding error.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43', 'B54'],
      settles: 'The rewards of the group with the largest advantage.',
      needs: ['advantages/max'],
      test(log) {
        const columns = ['advantages/max', 'advantages/min'].map((name) => log.column(name));
        const most = log.steps.map((_, i) => largest(columns.map((column) => Math.abs(column[i]! || 0))));
        const rewards = ['reward', 'reward_std'].flatMap((name) => [...withoutNaN(log.column(name))]);
        const limit = Math.max(EXTREME, TIMES * largest(rewards.map(Math.abs)));
        const beyond = most.flatMap((value, i) =>
          value > limit ? [at(log, i, 'advantages/max', value)] : [],
        );
        const measured = { entries: most.length, beyond: beyond.length, most: largest(most), limit };
        if (beyond.length === 0) return pass(measured);
        // Rewards that the log does not have may be as large.
        return rewards.length > 0 ? warn(measured, beyond) : inform(measured, beyond);
      },
      says: (m) =>
        say`Advantages reach ${m.most} (above ${m.limit} in ${m.beyond} of ${m.entries} entries): as where rewards that are equal but for rounding are divided by their deviation.`,
    }),
  ],
};
