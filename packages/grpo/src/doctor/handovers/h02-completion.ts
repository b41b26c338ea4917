import { sum } from '../../maths/moments.js';
import { CHANCE_NATS, FIRST_TOKEN, LIKELIHOOD } from '../../trace/index.js';
import { runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { bothLogProbs, comparisonOf, handOverCheck, isApart, OF_HAND_OVERS } from '../hand-over.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

const info = {
  stage: 'generation',
  level: 2,
  remedy:
    'Look at the sampler: its temperature, penalties and truncation, its random numbers, its cache, its stops and limits, and which prompt a completion belongs to.',
  proofs: ['native'],
} as const;

const audited = handOverCheck({
  ...info,
  code: 'H02',
  handOver: 'completion',
  title: 'Completions are draws from the declared distribution',
  wrong: 'Completions are not drawn from the declared distribution of their prompt',
});

/** One test that grows with the run: what a step alone is too short to tell adds up. */
const pooled = runCheck({
  ...OF_HAND_OVERS,
  ...info,
  code: 'H02.likelihood',
  title: 'The draws of all steps fit the declared temperature',
  rank: 101,
  threshold:
    'no other temperature makes the tokens of all audited steps likelier than the declared one by more than 22.1 nats and what rounding and the choice of the completions explain: that happens by chance in one of 10⁹ runs, however peaked the distributions are (Ville’s inequality)',
  needs: ['audit'],
  see({ audit }) {
    const own = audit.comparisons.filter(({ quantity }) => quantity.startsWith(LIKELIHOOD));
    return own.length > 0 ? own : 'the likelihood of the draws';
  },
  test(seen) {
    const likelihoods = seen[0]!.value.map(({ quantity }) => {
      const own = seen.flatMap(({ value }) => value.filter((one) => one.quantity === quantity));
      return {
        times: Number(quantity.slice(LIKELIHOOD.length)),
        tokens: sum(own.map(({ compared }) => compared)),
        gain: sum(own.map(({ deviation }) => deviation)),
        bound: CHANCE_NATS + sum(own.map(({ bound }) => bound - CHANCE_NATS)),
      };
    });
    const excess = likelihoods.map(({ gain, bound }) => gain - bound);
    const worst = likelihoods[excess.indexOf(Math.max(...excess))]!;
    return worst.gain <= worst.bound ? pass(worst) : fail(worst);
  },
  says: ({ times, tokens, gain, bound }) =>
    say`The ${tokens} tokens that were audited are likelier by ${gain} nats at ${times} times the declared temperature than at the declared one; chance, rounding and the choice of the completions explain ${bound}.`,
});

/** Advice by the tokens that are off. */
const FROM: Readonly<Record<string, string>> = {
  first:
    'First tokens are off, too, which no cache has a part in: look at its copy of the weights, adapters that it lacks, its number type, temperature and prompt.',
  later:
    'First tokens hold: look at its cache (which keys it keeps, and from where), at positions and windows.',
  unknown:
    'Look at its copy of the weights, adapters that it lacks, its number type and temperature; at its cache, positions and windows; at its prompt.',
};

/** The sampler against the trainer's own pass: if only the former is off, sampling alone is at fault. */
const alone = stepCheck({
  ...OF_HAND_OVERS,
  ...info,
  code: 'H02.alone',
  title: 'Decoding computes what one pass over all tokens does',
  rank: 99,
  threshold:
    'the sampler’s log-probs do not lie beyond their bound where those of the trainer, for the same weights and tokens, hold theirs, and no other prompt explains it',
  remedy:
    'Compare one completion, token by token, with a decode that computes the whole text anew for each token.',
  induces: ['H02', 'B19', 'B39'],
  needs: ['audit'],
  test({ audit }) {
    const both = bothLogProbs(audit);
    if (!both) return notApplicable('log-probs by sampler and trainer');
    const { sampled, trained, evidence } = both;
    const first = comparisonOf(audit, FIRST_TOKEN);
    const isEarly = first !== undefined && isApart(first);
    const from =
      first === undefined || (isEarly && first.token !== 0) ? 'unknown' : isEarly ? 'first' : 'later';
    const measured = { ...both.measured, token: sampled.token ?? 0, from };
    // Another prompt explains it, where there is one.
    const prompt = comparisonOf(audit, 'prompt of a completion');
    const isOfOther = prompt && isApart(prompt);
    return isApart(sampled) && !isApart(trained) && !isOfOther ? fail(measured, evidence) : pass(measured);
  },
  says: ({ found, plain, token, from }) =>
    say`The sampler gives token ${token + 1} of a completion the log-prob ${found}; the trainer’s pass over the same tokens holds, and a second, plain computation gives ${plain}: what samples computes otherwise than what trains. ${FROM[from]!}`,
});

export const h02: Fault = { ...audited, checks: [...audited.checks, alone, pooled] };
