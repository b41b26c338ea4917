import type { Comparison } from '../../trace/index.js';
import { runCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { handOverCheck } from '../hand-over.js';
import { fail, pass } from '../outcome.js';
import { say } from '../sentence.js';

const info = {
  stage: 'generation',
  level: 2,
  why: 'It follows from the declared settings alone, computed by code that shares nothing with what trains.',
  remedy:
    'Look at the sampler: its temperature and truncation, its cache, and which prompt a completion belongs to.',
  consequence: { rerun: 'GRPO', checkpointsVoid: true },
  proofs: ['native'],
} as const;

const audited = handOverCheck({
  ...info,
  code: 'H02',
  handOver: 'completion',
  name: 'completion',
  title: 'Completions are draws from the declared distribution',
  wrong: 'Completions are not drawn from the declared distribution of their prompt',
});

/** One test that grows with the run: what a step alone is too short to tell adds up. */
const pooled = runCheck({
  ...info,
  code: 'H02.surprise',
  title: 'The draws of all steps are as surprising as the declared distribution makes them',
  kind: 'identity',
  rank: 101,
  threshold:
    'the sum over all audited steps of surprise less its expected value stays within the root of the sum of the squared bounds of the steps: 6.2 deviations of chance, reached once in 10⁹ runs',
  sources: [],
  needs: ['audit'],
  see({ audit }) {
    const own = audit.comparisons.find(({ quantity }) => quantity === 'surprise of the draws');
    return own
      ? { found: Number(own.found), plain: Number(own.plain), bound: own.bound, tokens: own.compared }
      : 'the surprise of the draws';
  },
  test(seen) {
    const total = (of: (one: Surprise) => number) => seen.reduce((sum, { value }) => sum + of(value), 0);
    const measured = {
      tokens: total(({ tokens }) => tokens),
      found: total(({ found }) => found),
      plain: total(({ plain }) => plain),
      bound: Math.sqrt(total(({ bound }) => bound ** 2)),
    };
    const isWithin = Math.abs(measured.found - measured.plain) <= measured.bound;
    const steps = seen.map(({ step, value: { found, plain } }) => ({ step, values: { found, plain } }));
    return isWithin ? pass(measured) : fail(measured, steps);
  },
  says: (m) =>
    say`The ${m.tokens} tokens that were audited are worth ${m.found} nats; draws of the declared distribution are worth ${m.plain}, and chance explains ${m.bound} of difference.`,
});

type Surprise = { found: number; plain: number } & Pick<Comparison, 'bound'> & { tokens: number };

export const h02: Fault = { ...audited, checks: [...audited.checks, pooled] };
