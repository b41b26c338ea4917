import { sum, withoutNaN } from '../../maths/moments.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { differencesOf, type RowDifference } from '../measures/row-differences.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, quote, say } from '../sentence.js';

/** A quantity that one log has under two names. */
const TWICE = [['frac_reward_zero_std', 'frac_reward_zero_std/counted_again']] as const;
const APART = 0.01;

/** Updates of one rollout beyond which the last ones hardly train the policy that was sampled. */
const MANY_UPDATES = 16;
/** Distance of a ratio from 1 that is none: a bound of its own, 0.8, was meant. */
const WIDE = 0.5;

/** Share of the tokens that is hardly any: a fifth is usual. */
const FEW_TOKENS = 0.01;

/** Completions that show what a rule pays. */
const RULED = 5;

/** A clip of sequence ratios has some 3e-4; below this it is none. */
const NARROW = 1e-5;

/** Settings that are legal and odd, in words. */
const ODD: Readonly<Record<string, (value: number, other: number) => string>> = {
  delta: (value, other) =>
    say`delta is ${value}: it is a bound of the ratio itself, not a distance from 1, and lies below 1 + clipHigh (${other}), so that tokens with a positive advantage are cut at a ratio of ${value} and the upper clip never acts.`,
  cap: (value) =>
    say`The ratio of CISPO is capped at ${value}: that is a bound of the ratio itself, and below 1 it scales every token down, also where the policy has not moved. Usual are 2 to 6.`,
  zero: () =>
    'The clip is 0 on both sides: it is not off, but as narrow as can be, so that a token is not trained any more once its ratio leaves 1. A wide clip, such as 10, turns it off.',
  narrow: (value) =>
    say`The clip is ${value}: after an update nearly every token lies outside, and is not trained any more. It is the distance of the ratio from 1 (0.2 is usual, 3e-4 for sequences), not the ε of the optimizer (adam_epsilon).`,
  bounds: (value, other) =>
    say`The clip is ${value} and ${other}: these are distances from 1, so the ratio may go from ${Math.max(0, 1 - value)} to ${1 + other}. For ${value} to ${other} they would be ${1 - value} and ${other - 1}.`,
  share: (value) =>
    say`Only the share of ${value} of the tokens with the highest entropy is trained on: at 0 that is one token of an update. 1 takes all; 0.2 is usual.`,
  updates: (value) =>
    say`One rollout serves ${value} updates: the last of them train a policy that is ${value - 1} updates away from the one that sampled.`,
};

/** A setting that is legal and odd, and the number that it is held to. */
type Odd = { odd: string; value: number; other: number };

export const b59: Fault = {
  code: 'B59',
  name: 'configuration',
  title: 'Configuration is ignored, or monitors contradict each other',
  left: 'pre-flight',
  checks: [
    logCheck({
      code: 'B59.metrics',
      title: 'Metrics of one quantity agree',
      stage: 'configuration',
      level: 6,
      rank: 11,
      threshold: 'min ≤ mean ≤ max length; all truncated ⇔ mean terminated length 0; within 1e-3',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'Trust none of these metrics until the contradiction is explained.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
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
        const measured = {
          entries: withoutNaN(log.column('completions/mean_length')).length,
          broken: broken.length,
        };
        return broken.length > 0 ? fail(measured, broken) : pass(measured);
      },
      says: (m) =>
        say`In ${m.broken} of ${m.entries} entries the metrics of completion lengths and truncation contradict each other.`,
    }),
    logCheck({
      code: 'B59.monitors',
      title: 'Two monitors of one quantity agree',
      stage: 'configuration',
      level: 6,
      rank: 12,
      threshold: `within ${APART} where both are shares of the same groups`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Another run logged 16.7 % and 50 % of flat groups for one step: one monitor counted over completions.',
      remedy:
        'Count one step by hand: groups whose rewards are all equal, over groups. Trust neither monitor until then.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The rewards of one step, group by group.',
      proofs: ['log only'],
      needs: [],
      test(log) {
        const pairs = TWICE.filter((names) => names.every((name) => log.has(name)));
        if (pairs.length === 0) return notApplicable('one quantity under two names');
        const both = pairs.flatMap(([name, again]) => {
          const [ones, others] = [log.column(name), log.column(again)];
          return log.steps.flatMap((step, i) =>
            Number.isNaN(ones[i]! + others[i]!)
              ? []
              : [{ step, name, again, one: ones[i]!, other: others[i]! }],
          );
        });
        if (both.length === 0) return notApplicable('both in one entry');
        const apart = both.filter(({ one, other }) => Math.abs(one - other) > APART);
        const [first] = apart;
        const measured = {
          entries: both.length,
          apart: apart.length,
          ...(first && { one: first.one, other: first.other }),
        };
        const evidence = apart.map(
          ({ step, name, again, one, other }): Evidence => ({
            step,
            values: { [name]: one, [again]: other },
          }),
        );
        return apart.length > 0 ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        `Two monitors of one step disagree: ${percent(m.one!)} and ${percent(m.other!)} of the groups have equal rewards. At least one of them is wrong.`,
    }),
    stepCheck({
      code: 'B59.settings',
      title: 'Settings of the loss mean what is usually meant by them',
      stage: 'configuration',
      level: 4,
      rank: 7,
      threshold: `of the declared settings: delta above 1 + clipHigh; a cap of the ratio of 1 or more; a clip that is not 0 on both sides, and of ${NARROW} or more where a rollout serves several updates; clipLow below ${WIDE}, of a clip whose bounds do not sum to 2 like those of a ratio; ${percent(FEW_TOKENS)} or more of the tokens; at most ${MANY_UPDATES} updates per rollout (more only inform)`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_config.py'],
      why: 'Some systems take bounds of the ratio, some its distance from 1, and the same name is used for both.',
      remedy:
        'Look the setting up in the trainer that you use: whether it is a bound of the ratio (0.8, 1.2, 4) or a distance from 1 (0.2).',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B54', 'B43'],
      settles: 'The ratio at which a token of each sign stops being trained, by hand.',
      proofs: ['TRL run'],
      needs: ['declared'],
      test({ declared: { objective = {}, entropy = {}, updatesPerRollout } }): Outcome<Odd> {
        const { loss, clipLow, clipHigh = clipLow, delta } = objective;
        if (!loss && updatesPerRollout === undefined) return notApplicable('a declared loss');
        const cap = objective.cap ?? (loss === 'cispo' ? clipHigh : undefined);
        const updates = updatesPerRollout ?? 1;
        if (delta !== undefined && clipHigh !== undefined && delta <= 1 + clipHigh)
          return warn({ odd: 'delta', value: delta, other: 1 + clipHigh });
        if (loss === 'cispo' && cap !== undefined && cap < 1)
          return warn({ odd: 'cap', value: cap, other: 1 });
        if (loss !== 'cispo' && clipLow === 0 && clipHigh === 0)
          return warn({ odd: 'zero', value: 0, other: 0 });
        if (loss !== 'cispo' && clipHigh !== undefined && clipHigh < NARROW && updates > 1)
          return warn({ odd: 'narrow', value: clipHigh, other: NARROW });
        const areBounds = clipLow !== undefined && Math.abs(clipLow + (clipHigh ?? 0) - 2) < 1e-6;
        if (loss !== 'cispo' && clipLow !== undefined && clipLow >= WIDE && areBounds)
          return warn({ odd: 'bounds', value: clipLow, other: clipHigh! });
        const { topShare = 1 } = entropy;
        if (topShare < FEW_TOKENS) return warn({ odd: 'share', value: topShare, other: 1 });
        return updates > MANY_UPDATES
          ? inform({ odd: 'updates', value: updates, other: MANY_UPDATES })
          : pass({ odd: '', value: 0, other: 0 });
      },
      says: ({ odd, value, other }) => ODD[odd]!(value, other),
    }),
    stepCheck({
      code: 'B59.rows',
      title: 'Rows of completions.jsonl say what the step record says',
      stage: 'configuration',
      level: 4,
      rank: 11,
      threshold:
        'the same number of completions, texts, prompts, ends, lengths, rewards and advantages (to 1e-8), completion by completion, as far as both have them',
      why: 'People and tools read the rows: what was trained may be right while they show another completion’s numbers.',
      remedy:
        'Trust the step record, which the audit held to a second computation, and look at the code that writes the rows.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      // Steps without a record of their own are judged by these rows.
      induces: ['B21', 'B31', 'B32', 'B33', 'B34', 'B10', 'B56'],
      proofs: ['native'],
      needs: ['rows'],
      test({ rows }, record): Outcome<Record<keyof RowDifference, string | number> & { others: number }> {
        // The record of an evaluation has none.
        if (!record.completions?.prompt) return notApplicable('completions of a step');
        const [first, ...others] = differencesOf(record, rows);
        const measured = {
          quantity: '',
          completion: 0,
          row: '',
          record: '',
          ...first,
          others: others.length,
        };
        return first
          ? fail(
              measured,
              [first, ...others].map(({ quantity, completion }) => ({ text: quantity, completion })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`The ${m.quantity} of a row in completions.jsonl is ${m.row}; the record of its step has ${m.record}.${m.others > 0 ? say` So it is with ${m.others} other ${m.others === 1 ? 'quantity' : 'quantities'}.` : ''}`,
    }),
    runCheck({
      code: 'B59.rules',
      title: 'A rule of a reward pays what it paid before',
      stage: 'reward',
      level: 4,
      rank: 2,
      threshold: `no rule that paid one value alone in the first two steps, ${RULED} times or more, pays another one later, as often as ${RULED} times`,
      why: 'A reward tells which of its rules decided: the value beside it follows from that. Seen in a grader that gave right answers nothing from the fourth step on, with "equal" beside each.',
      remedy:
        'Look at what happens between the rule and the reward: weights, caps, and what else changes with the step.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B20', 'B26', 'B27', 'B28', 'B30', 'B61'],
      settles: 'The same completion graded again by hand.',
      proofs: ['native'],
      needs: ['rewards'],
      see({ rewards: { names = [], values, rules } }) {
        if (!rules || !values) return 'rewards.rules';
        return names.flatMap((reward, k) =>
          paidBy(reward, rules[k] ?? [], (b) => values[k * rules[k]!.length + b]!),
        );
      },
      test(seen) {
        const start = seen[0]!.step;
        const all = seen.flatMap(({ step, value }) => value.map((one) => ({ ...one, step })));
        const byRule = new Map<string, typeof all>();
        for (const one of all) {
          const key = `${one.reward}: ${one.rule}`;
          const own = byRule.get(key);
          if (own) own.push(one);
          else byRule.set(key, [one]);
        }
        const fixed = [...byRule.values()].flatMap((own) => {
          const first = own.filter(({ step }) => step <= start + 1);
          const before = first[0]?.value;
          const isFixed =
            first.every(({ value }) => Object.is(value, before)) &&
            sum(first.map(({ count }) => count)) >= RULED;
          return isFixed
            ? [{ before: before!, others: own.filter(({ value }) => !Object.is(value, before)) }]
            : [];
        });
        if (fixed.length === 0) return notApplicable('rules that pay one value in the first two steps');
        const changed = fixed.find(({ others }) => sum(others.map(({ count }) => count)) >= RULED);
        const [one] = changed?.others ?? [];
        if (!changed || !one) return pass({ rule: '', reward: '', before: 0, now: 0, step: 0, count: 0 });
        const { reward, rule, value: now, step } = one;
        const count = sum(changed.others.map((other) => other.count));
        return warn(
          { reward, rule, before: changed.before, now, step, count },
          changed.others.map(({ step, completion, value }) => ({ step, completion, values: { value } })),
        );
      },
      says: (m) =>
        say`The reward ${m.reward} gave ${m.before} by its rule ${quote(m.rule)}, and gives ${m.now} by it from step ${m.step} on (${m.count} times): what pays is no longer what the rule says.`,
    }),
    stepCheck({
      code: 'B59.tokenizer',
      title: 'The tokenizer is what it was when training began',
      stage: 'template',
      level: 1,
      rank: 1,
      threshold: 'chat template, vocabulary and special tokens are those that training began with',
      why: 'Seen in a callback that set another template to print a sample, and left it: from then on the model was asked in a form that it did not know.',
      remedy:
        'Give what prints samples a copy of the tokenizer, or put back what it changes, also where it fails.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B01', 'B02', 'B03', 'B04', 'B05', 'B08', 'B16', 'B28', 'B30'],
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { changedSettings } }) {
        if (!changedSettings) return notApplicable('probes.changedSettings');
        const [first] = changedSettings.filter(isOfTokenizer);
        return first ? fail({ ...first, name: first.name.replace(OF_TOKENIZER, '') }) : pass();
      },
      says: ({ name, from, to }) =>
        say`The ${name} of the tokenizer was ${quote(from)} when training began and is ${quote(to)} now: something changed it while the run went on, such as a callback. Prompts are made by it.`,
    }),
    stepCheck({
      code: 'B59.changed',
      title: 'Settings stay as they were when training began',
      stage: 'configuration',
      level: 4,
      rank: 7,
      threshold: 'no setting is another than when training began',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Seen in a callback that lowered args.temperature in each step: TRL had read it before the first.',
      remedy:
        'Change what the trainer reads, which for many settings is an attribute of the trainer itself, and look whether the samples follow; or leave the setting alone.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B19', 'B39', 'B55'],
      settles: 'The completions of two steps that the change lies between.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { changedSettings } }) {
        if (!changedSettings) return notApplicable('probes.changedSettings');
        // Another check tells of the tokenizer.
        const others = changedSettings.filter((one) => !isOfTokenizer(one));
        const [first] = others;
        const measured = { count: others.length, name: '', from: '', to: '', ...first };
        return first ? warn(measured) : pass(measured);
      },
      says: ({ count, name, from, to }) =>
        say`The setting ${name} was ${from} when training began and is ${to} now${count > 1 ? say`, and ${count - 1} more have changed` : ''}: ${/^(trainer|generation)\./.test(name) ? 'what reads it anew follows, and what has read it before, such as the sampler, does not' : 'the trainer has read most settings by then, so that the change may do nothing'}.`,
    }),
  ],
};

const OF_TOKENIZER = /^tokenizer\./;
const isOfTokenizer = ({ name }: { name: string }) => OF_TOKENIZER.test(name);

/** Payments of each rule of a reward, counted. */
function paidBy(reward: string, rules: readonly (string | null)[], valueAt: (completion: number) => number) {
  const paid = new Map<
    string,
    { reward: string; rule: string; value: number; count: number; completion: number }
  >();
  for (const [completion, rule] of rules.entries()) {
    if (rule === null) continue;
    const value = valueAt(completion);
    const key = `${rule} ${value}`;
    const known = paid.get(key);
    if (known) known.count++;
    else paid.set(key, { reward, rule, value, count: 1, completion });
  }
  return [...paid.values()];
}
