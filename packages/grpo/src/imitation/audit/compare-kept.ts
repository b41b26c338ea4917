import type { Measured } from '../../audit/context.js';
import { problemOf } from '../../audit/places.js';
import { textPair } from '../../audit/text-pair.js';
import { explained, type Hypothesis, type Pair, worstOf } from '../../audit/worst.js';
import type { Config } from '../../config/schema.js';
import type { Batch } from '../../step/batch.js';
import type { Task } from '../../tasks/task.js';
import type { Example } from '../examples.js';

/** Completions that a round keeps, and the examples made of them. */
export interface Kept {
  kept: readonly number[];
  /** One of each kept completion. */
  examples: readonly Example[];
  /** Those of all updates, in turn. */
  learnt: readonly Example[];
}

/**
 * Holds the kept completions to the declared rule, the examples made of them to their prompts and tokens, and the updates
 * to all of these examples.
 */
export function compareKept(
  batch: Batch,
  { kept, examples, learnt }: Kept,
  task: Pick<Task, 'isCorrect'>,
  settings: Config['expert'],
): Measured {
  const { problems, prompts, completions_B } = batch;
  const plain = plainKept(batch, task, settings);
  // An isCorrect that chance answers is found out.
  if (plain.join() !== plainKept(batch, task, settings).join())
    return { handOver: 'choice', missing: 'an isCorrect that answers the same when it is asked again' };
  const placesOf = (places: readonly number[], p: number) =>
    places
      .filter((b) => problemOf(batch, b) === p)
      .map((b) => b + 1)
      .join(' ');
  const pairsBy = (by: Config['expert'], order?: Order): Pair[] => {
    const rightly = plainKept(batch, task, by, order);
    return problems.map((_, prompt) => {
      return { ...textPair(placesOf(kept, prompt), placesOf(rightly, prompt)), prompt };
    });
  };
  const made = plain.map((b) =>
    spelled({ prompt: prompts[problemOf(batch, b)]!.ids, completion: completions_B[b]!.ids }),
  );
  return {
    comparisons: [
      ...worstOf('choice', 'list of kept completions of a problem', pairsBy(settings)).map((one) =>
        explained(one, otherRules(settings, pairsBy)),
      ),
      ...worstOf(
        'loss',
        'list of ids of an example',
        made.map((ids, i) => textPair(examples[i] ? spelled(examples[i]) : '', ids)),
      ),
      ...worstOf(
        'loss',
        'times that a kept completion is learnt',
        examples.map((example, i) => ({
          found: learnt.filter((one) => one === example).length,
          plain: settings.epochs,
          bound: 0,
          completion: kept[i],
        })),
      ),
    ],
  };
}

const spelled = ({ prompt, completion }: Example) => `${prompt.join(' ')} | ${completion.join(' ')}`;

/** The rewards of two completions → whether the second comes first (> 0), as in a sort. */
type Order = (a: number, b: number) => number;

const bestFirst: Order = (a, b) => b - a;

/** Rules that differ in one thing from the declared one. */
function* otherRules(
  settings: Config['expert'],
  pairsBy: (by: Config['expert'], order?: Order) => Pair[],
): Generator<Hypothesis> {
  yield {
    what: 'the order of rewards turned round: the worst are kept first',
    pairs: pairsBy(settings, (a, b) => a - b),
  };
  yield {
    what: 'completions in the order of sampling, whatever they earned',
    pairs: pairsBy(settings, () => 0),
  };
  yield {
    what: `expert.unique=${!settings.unique}`,
    pairs: pairsBy({ ...settings, unique: !settings.unique }),
  };
  yield { what: 'expert.perProblem left out', pairs: pairsBy({ ...settings, perProblem: undefined }) };
  yield {
    what: 'no threshold: any completion is kept',
    pairs: pairsBy({ ...settings, threshold: Number.NEGATIVE_INFINITY }),
  };
}

/** Of each problem the best-rewarded good completions, one of each text where that is asked for. */
function plainKept(
  batch: Batch,
  { isCorrect }: Pick<Task, 'isCorrect'>,
  { threshold, unique, perProblem = Number.POSITIVE_INFINITY }: Config['expert'],
  order = bestFirst,
): number[] {
  const kept: number[] = [];
  for (const [p, { row }] of batch.problems.entries()) {
    const texts = new Set<string>();
    let count = 0;
    for (const b of byReward(batch, p, order)) {
      const { text } = batch.completions_B[b]!;
      const isGood = threshold === undefined ? isCorrect!(text, row) : batch.rewards_B[b]! >= threshold;
      if (!isGood || count >= perProblem || (unique && texts.has(text))) continue;
      texts.add(text);
      kept.push(b);
      count++;
    }
  }
  return kept;
}

/** The completions of a problem that have a reward, in an order of rewards; of equal ones the one sampled first. */
const byReward = (batch: Batch, p: number, order: Order): number[] => {
  const { rewards_B } = batch;
  const own = [...rewards_B.keys()].filter((b) => problemOf(batch, b) === p && !Number.isNaN(rewards_B[b]));
  return own.sort((a, b) => order(rewards_B[a]!, rewards_B[b]!) || a - b);
};
