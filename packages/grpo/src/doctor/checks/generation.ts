/** Completions say something, each on its own. */
import type { StepRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { keysOf, membersOf, updateRows } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { groupsOf, largest, mean, sum } from '../statistics.js';
import { known } from '../trend.js';

/** Two equal draws this unlikely are no accident: natural logarithm, about 1e-9. */
const ACCIDENT = -20;
const HALF = 0.5;
/** Share of blank completions. */
const BLANK = 0.05;

export const generationChecks = [
  stepCheck({
    code: 'B17.draws',
    title: 'Equal completions of a prompt are no more frequent than chance allows',
    stage: 'generation',
    kind: 'identity',
    level: 2,
    threshold: `no completion with Σ log p below ${ACCIDENT} drawn twice`,
    source: 'identity; a completion of log-prob L is drawn again with probability e^L (ms-swift#4570)',
    remedy: 'Give each completion a random stream of its own, and look for a cache of outputs.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B30'],
    needs: ['ids', 'promptOf', 'sampledLogprobs'],
    test({ ids, promptOf, sampledLogprobs }, { declared }) {
      if (declared?.temperature === 0) return notApplicable('a temperature above 0');
      const keys = keysOf(ids);
      const twins: Evidence[] = [];
      for (const group of groupsOf(promptOf)) {
        const seen = new Map<string, number>();
        for (const b of group) {
          const key = keys[b]!;
          const first = seen.get(key);
          if (first === undefined) {
            seen.set(key, b);
            continue;
          }
          // Tokens of tools were not drawn.
          const logprob = sum(known(sampledLogprobs[b]!));
          if (logprob < ACCIDENT) twins.push({ completion: b, values: { equals: first, logprob } });
        }
      }
      const measured = { completions: ids.length, twins: twins.length };
      return twins.length > 0 ? fail(measured, twins) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B17.unique',
    title: 'Completions of a prompt differ',
    stage: 'generation',
    kind: 'heuristic',
    level: 2,
    threshold: `on average at least half of a group’s completions distinct: fewer inform, since short answers of a trained policy repeat in health; a warning where the repeated ones have Σ entropy above ${-ACCIDENT}`,
    source: 'seeds 001 and 003; proposal',
    remedy: 'A higher temperature, or harder prompts; near the end of a successful run nothing.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    induces: ['B30'],
    settles:
      'Reward and entropy: equal right answers at low entropy are success, equal answers at high entropy a broken sampler.',
    needs: ['ids', 'promptOf'],
    test({ ids, promptOf }, record) {
      const groups = groupsOf(promptOf).filter((group) => group.length > 1);
      if (groups.length === 0) return notApplicable('a prompt with several completions');
      const keys = keysOf(ids);
      const share = mean(groups.map((group) => new Set(group.map((b) => keys[b])).size / group.length));
      const alike = groups.filter((group) => group.every((b) => keys[b] === keys[group[0]!]));
      const entropy = largest(alike.map((group) => entropyOf(record, group[0]!)));
      const measured = {
        groups: groups.length,
        uniqueShare: share,
        alike: alike.length,
        ...(entropy > 0 && { entropy }),
      };
      const evidence = alike.map(
        (group): Evidence => ({ prompt: promptOf[group[0]!]!, values: { completions: group.length } }),
      );
      if (share >= HALF) return pass(measured);
      return entropy > -ACCIDENT ? warn(measured, evidence) : inform(measured, evidence);
    },
  }),
  stepCheck({
    code: 'B03.blank',
    title: 'Completions say something',
    stage: 'generation',
    kind: 'heuristic',
    level: 2,
    threshold: `at most ${100 * BLANK} % of the completions blank, give or take two standard errors; after step 1 up to half only inform`,
    source: 'mlx-examples#1233 and seed 000; proposal',
    remedy: 'Look at the end of the rendered prompt and at the first tokens sampled.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B26', 'B28', 'B30'],
    settles: 'The tokens of a blank completion: an end token at once, or special tokens that decoding drops.',
    needs: ['texts'],
    test({ texts }, { step }) {
      const blank = texts.flatMap((text, completion): Evidence[] =>
        text.trim() === '' ? [{ completion, text: shorten(text) }] : [],
      );
      const measured = { completions: texts.length, blank: blank.length };
      if (blank.length - 2 * Math.sqrt(blank.length) <= BLANK * texts.length) return pass(measured);
      // Later a policy may have come to it by itself.
      return step > 1 && blank.length <= texts.length / 2 ? inform(measured, blank) : warn(measured, blank);
    },
  }),
];

/** Σ entropy of a completion's tokens: what −Σ log p is on average. NaN where it is not in the first update. */
function entropyOf(record: StepRecord, completion: number): number {
  const [update] = record.updates ?? [];
  const row = update ? membersOf(record, update).indexOf(completion) : -1;
  const entropies = updateRows(record, update, 'entropies')?.[row];
  return entropies ? sum(known(entropies)) : Number.NaN;
}
