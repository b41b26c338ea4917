import type { Comparison, HandOver, StepRecord } from '../trace/index.js';
import { type StepCheck, stepCheck } from './check.js';
import type { Fault } from './fault.js';
import { type Evidence, fail, notApplicable, pass } from './outcome.js';
import { formatApart, say } from './sentence.js';

/** What is known of a hand-over: its place in the order of diagnosis, and what to do when it does not hold. */
export interface HandOverInfo
  extends Pick<StepCheck, 'stage' | 'level' | 'remedy' | 'induces' | 'proofs'>,
    Partial<Pick<StepCheck, 'why' | 'consequence'>> {
  code: `H${number}`;
  handOver: HandOver;
  /** What must hold, as a statement. */
  title: string;
  /** What is wrong where it does not. */
  wrong: string;
}

type Audit = NonNullable<StepRecord['audit']>;

/** Named faults of the same level say more, and lead. */
const LAST = 100;

/** Words before the audit's own number. */
const AGAIN = 'a second, plain computation gives';

/** Holds of every hand-over that says nothing else. */
export const OF_HAND_OVERS = {
  why: 'It follows from the declared settings alone, computed by code that shares nothing with what trains.',
  consequence: { rerun: 'GRPO', checkpointsVoid: true },
} as const;

/** A deviation that is no number disagrees. */
export const isApart = ({ deviation, bound }: Comparison): boolean => !(deviation <= bound);

/** The first comparison of a quantity, where the audit has one. */
export const comparisonOf = (audit: Audit, quantity: string): Comparison | undefined =>
  audit.comparisons.find((one) => one.quantity === quantity);

/** Log-probs of the same tokens by what samples and by what trains, where the audit held both; the former as evidence. */
export function bothLogProbs(audit: Audit) {
  const sampled = comparisonOf(audit, 'log-prob of the sampler');
  const trained = comparisonOf(audit, 'log-prob of the policy');
  if (!sampled || !trained) return undefined;
  const { quantity, found, plain, completion = 0, token = 0 } = sampled;
  const measured = { found: Number(found), plain: Number(plain) };
  const evidence: Evidence[] = [{ completion, token, text: quantity, values: measured }];
  return { sampled, trained, measured, evidence };
}

/** The check that holds a hand-over of the audit to the plain path: every comparison within its bound. */
export function handOverCheck({ code, handOver, wrong, ...info }: HandOverInfo): Fault {
  const check = stepCheck({
    ...OF_HAND_OVERS,
    ...info,
    code: `${code}.audit`,
    rank: LAST,
    threshold:
      'each number that the audit compared lies within its recorded bound of what the plain path has; the bound follows from number type and length',
    needs: ['audit'],
    test({ audit }) {
      const own = audit.comparisons.filter((one) => one.handOver === handOver);
      if (own.length === 0) {
        const missing = audit.missing.filter((one) => one.handOver === handOver);
        return notApplicable(
          ...(missing.length > 0
            ? missing.map(({ what }) => what)
            : [`comparisons of the hand-over ${handOver}`]),
        );
      }
      const apart = own.filter(isApart);
      const compared = own.reduce((sum, one) => sum + one.compared, 0);
      const worst = apart.find(({ explained }) => explained) ?? apart[0];
      if (!worst) return pass({ comparisons: own.length, compared });
      const { quantity, found, plain, deviation, bound, off, explained = '' } = worst;
      const evidence = apart.map(
        ({ prompt, completion, token, tensor, ...one }): Evidence => ({
          ...(prompt !== undefined && { prompt }),
          ...(completion !== undefined && { completion }),
          ...(token !== undefined && { token }),
          text: tensor ?? one.quantity,
          values: { found: one.found, plain: one.plain },
        }),
      );
      const of = worst.tensor ?? '';
      return fail(
        {
          ...{ quantity, of, found, plain, deviation, bound, compared: worst.compared },
          ...{ common: commonOf(off), explained },
        },
        evidence,
      );
    },
    says: ({ quantity, of, found, plain, deviation, bound, compared, common, explained }) => {
      const isText = typeof found === 'string' || typeof plain === 'string';
      const both = isText
        ? `${JSON.stringify(found)}; ${AGAIN} ${JSON.stringify(plain)}`
        : bothNumbers(found, plain);
      const apart =
        isText || bound === 0
          ? ''
          : say` They lie ${deviation} apart, the worst of ${compared}; rounding and chance explain ${bound}.`;
      const all = common ? say` Of ${compared}, ${common}.` : '';
      const because = explained && say` All that was found is what comes of ${explained}.`;
      return say`The ${quantity}${of && ` of ${of}`} is ${both}.${because}${apart}${all}`;
    },
  });
  return { code, name: handOver, title: wrong, checks: [check] };
}

/** Says how many are off, and what they have in common; nothing of one alone. */
function commonOf(off: Comparison['off']): string {
  if (!off || off.pairs < 2) return '';
  const { pairs, factor, completions, tensors, names = [], firstToken = 0 } = off;
  // A token with its numbers may stand for a tensor.
  const kind = names.some((name) => name.includes(' ')) ? 'cases' : 'tensors';
  const among = ([own, all]: readonly [number, number], what: string) =>
    own < all ? `, in ${own} of ${all} ${what}` : `, in all ${all} ${what}`;
  return [
    say`${pairs} are off`,
    completions ? among(completions, 'completions') : '',
    tensors ? among(tensors, kind) : '',
    names.length > 0 ? ` (${names.join(', ')}${names.length < tensors![0] ? ', …' : ''})` : '',
    firstToken > 0 ? say`, none before token ${firstToken}` : '',
    factor === undefined ? '' : say`, each ${factor} times what it should be`,
  ].join('');
}

function bothNumbers(found: number, plain: number): string {
  const [a, b] = formatApart([found, plain]);
  return `${a}; ${AGAIN} ${b}`;
}
