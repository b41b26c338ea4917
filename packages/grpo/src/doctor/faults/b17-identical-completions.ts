import { largest, mean, sum, withoutNaN } from '../../maths/moments.js';
import type { StepRecord } from '../../trace/index.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { inputs, keysOf, membersOf } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Log-probability (about 1e-9) below which two equal samples are not chance. */
const ACCIDENT = -20;
const HALF = 0.5;
/** Tokens of a sentence: shorter answers may all have one length. */
const WORDED = 8;

export const b17: Fault = {
  code: 'B17',
  name: 'identical completions',
  title: 'The completions of a group are identical',
  checks: [
    stepCheck({
      code: 'B17.draws',
      title: 'Equal completions of a prompt are no more frequent than chance allows',
      stage: 'generation',
      level: 2,
      rank: 2,
      threshold: `no completion with Σ log p below ${ACCIDENT} sampled twice`,
      sources: ['modelscope/ms-swift#4570', 'huggingface/trl#2776'],
      why: 'A completion of log-prob L is drawn again with probability e^L; a masked-diffusion model also in another order of filling, so that there only the same order counts.',
      remedy: 'Give each completion a random stream of its own, and look for a cache of outputs.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30'],
      proofs: ['native'],
      needs: ['ids', 'promptOf', 'sampledLogprobs'],
      test({ ids, promptOf, sampledLogprobs }, record) {
        if (record.declared?.rollout?.temperature === 0) return notApplicable('a temperature above 0');
        const [regions, orders] = [inputs.regions.from(record), inputs.orders.from(record)];
        if (record.diffusion && !(regions && orders))
          return notApplicable(inputs.regions.path, inputs.orders.path);
        const draws = regions && orders && [keysOf(regions), keysOf(orders)];
        const keys = draws ? draws[0]!.map((key, b) => key + draws[1]![b]!) : keysOf(ids);
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
            const logprob = sum(withoutNaN(sampledLogprobs[b]!));
            if (logprob < ACCIDENT) twins.push({ completion: b, values: { equals: first, logprob } });
          }
        }
        const measured = { completions: ids.length, twins: twins.length };
        return twins.length > 0 ? fail(measured, twins) : pass(measured);
      },
      says: (m) =>
        say`${m.twins} completions equal another completion of their prompt, though each is far too unlikely to be sampled twice.`,
    }),
    stepCheck({
      code: 'B17.unique',
      title: 'Completions of a prompt differ',
      stage: 'generation',
      level: 2,
      rank: 2,
      threshold: `on average at least half of a group’s completions are distinct; only informs, since a trained policy repeats short answers, unless the repeated completions have Σ entropy above ${-ACCIDENT}`,
      sources: ['modelscope/ms-swift#4570'],
      remedy: 'Raise the temperature, or use harder prompts. Near the end of a successful run, do nothing.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B30'],
      settles:
        'Reward and entropy: equal right answers at low entropy mean success, equal answers at high entropy mean a broken sampler.',
      proofs: ['native'],
      needs: ['ids', 'promptOf'],
      test(
        { ids, promptOf },
        record,
      ): Outcome<
        Record<'groups' | 'uniqueShare' | 'alike', number> & { entropy?: number; repeated?: number }
      > {
        const groups = groupsOf(promptOf).filter((group) => group.length > 1);
        if (groups.length === 0) return notApplicable('a prompt with several completions');
        const keys = keysOf(ids);
        const share = mean(groups.map((group) => new Set(group.map((b) => keys[b])).size / group.length));
        const alike = groups.filter((group) => group.every((b) => keys[b] === keys[group[0]!]));
        const shares = { groups: groups.length, uniqueShare: share, alike: alike.length };
        if (share >= HALF) return pass(shares);
        const entropyOf = entropiesOf(record);
        const entropy = largest(alike.map((group) => entropyOf(group[0]!)));
        const isRepeated = (group: readonly number[]) => (b: number) =>
          group.some((other) => other !== b && keys[other] === keys[b]);
        const repeats = groups.flatMap((group) => group.filter(isRepeated(group)));
        const repeated = mean(withoutNaN(repeats.map(entropyOf)));
        const measured = {
          ...shares,
          ...(entropy > 0 && { entropy }),
          ...(repeated > 0 && { repeated }),
        };
        const evidence = alike.map(
          (group): Evidence => ({ prompt: promptOf[group[0]!]!, values: { completions: group.length } }),
        );
        return entropy > -ACCIDENT ? warn(measured, evidence) : inform(measured, evidence);
      },
      says: (m) =>
        `Only ${percent(m.uniqueShare)} of a prompt's completions are distinct.${m.entropy !== undefined && m.entropy > 20 ? say` The repeated completions have an entropy of ${m.entropy} nats, too much to repeat by chance: the sampler is broken.` : m.repeated === undefined ? ' Either the policy has learnt its task, or the sampler is broken; the entropy would show which.' : say` The policy is nearly certain of the repeated ones (entropy ${m.repeated} nats per completion): they repeat by chance, and the sampler works.`}`,
    }),
    stepCheck({
      code: 'B17.reseeded',
      title: 'Nothing sets the seed of sampling again',
      stage: 'generation',
      level: 2,
      rank: 3,
      threshold:
        'the state of the random numbers, at the beginning of a rollout and after its rewards, is another than in an earlier rollout',
      why: 'Seen in a run whose reward seeded PyTorch for a judge: each rollout drew the same random numbers from there on.',
      remedy:
        'Look for `manual_seed` or `set_seed` in callbacks, in the rewards and in what they import: use a generator of their own, or put the old state back.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30'],
      settles: 'A number drawn after the rewards of two steps: `torch.rand(1)` must differ.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { reseeded } }) {
        if (reseeded === undefined) return notApplicable('probes.reseeded');
        return reseeded ? warn({ reseeded }) : pass({ reseeded });
      },
      says: () =>
        'The random numbers stand where they stood in an earlier rollout, at its beginning or after its rewards: a callback or a reward sets the seed, and the same random numbers are drawn in each step.',
    }),
    stepCheck({
      code: 'B17.greedy',
      title: 'Completions are sampled, neither taken greedily nor searched',
      stage: 'generation',
      level: 2,
      rank: 3,
      threshold: 'the sampler is not told to take the likeliest token, nor to search several beams',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Seen with generation_kwargs={"do_sample": False} and with {"num_beams": 4}, copied from an evaluation.',
      remedy:
        'Leave do_sample and num_beams out of the generation settings, and set a temperature of about 1.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30', 'B20', 'B53', 'B45', 'B43'],
      settles: 'The distinct completions of one prompt, counted.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { greedy, beams = 1 } }) {
        if (greedy === undefined) return notApplicable('probes.greedy');
        const measured = { greedy, beams };
        return greedy || beams > 1 ? warn(measured) : pass(measured);
      },
      says: ({ beams }) =>
        beams > 1
          ? say`Completions are not sampled: generation follows the likeliest of ${beams} beams (num_beams). Those of a prompt are nearly the same, no log-prob of theirs is that of a draw, and a group without differences teaches nothing.`
          : 'The sampler takes the likeliest token at each place (do_sample is false): the completions of a prompt are the same, or differ by rounding alone, and a group without differences teaches nothing.',
    }),
    logCheck({
      code: 'B17.log',
      title: 'Completions of a prompt differ',
      stage: 'generation',
      level: 4,
      rank: 6,
      threshold:
        'fewer than half of the entries have groups of identical completions; only informs, since a learnt task has them too',
      sources: ['modelscope/ms-swift#4570'],
      remedy:
        'Raise the temperature, or give each completion its own random stream. Near the end of a successful run, do nothing.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B30'],
      settles:
        'Entropy and reward: at high entropy the sampler is broken, at low entropy and high reward the task is learnt.',
      needs: [],
      test(log) {
        const names = log.names(/^(identical_groups|skipped\/identical)$/);
        if (names.length === 0) return notApplicable('a count of groups of identical completions');
        const alike = log.series.entries.filter(({ values }) =>
          names.some((name) => values[name]! > 0),
        ).length;
        const measured = { entries: log.series.entries.length, alike };
        return alike >= measured.entries / 2 ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`In ${m.alike} of ${m.entries} entries all completions of a prompt are identical. Either the sampler is broken, or the task is learnt; entropy and reward would show which.`,
    }),
    logCheck({
      code: 'B17.lengths',
      title: 'Completions that earn the same differ in length',
      stage: 'generation',
      level: 4,
      rank: 6,
      threshold: `in fewer than half of the entries that have them, least and largest length are one number of ${WORDED} tokens or more, none of the completions is truncated, and all groups have equal rewards; it only informs where the reward is 1`,
      sources: ['modelscope/ms-swift#4570'],
      why: 'Texts of a sentence or more that all have one length, and one reward in each group, are one text.',
      remedy:
        'Raise the temperature; look for `do_sample=False`, a top_k of 1, one seed for all completions, or a policy that has collapsed to one answer.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B30', 'B45', 'B53'],
      settles: 'The completions of one group, side by side.',
      needs: ['completions/min_length', 'completions/max_length'],
      test(log): Outcome<{ entries: number; alike: number; tokens: number; reward?: number }> {
        const told = log.series.entries.filter(
          ({ values }) => values['completions/min_length']! > 0 && 'completions/max_length' in values,
        );
        const alike = told.filter(({ values }) => isAlike(values));
        const [first] = alike;
        const measured = {
          entries: told.length,
          alike: alike.length,
          tokens: first?.values['completions/max_length'] ?? 0,
          ...(first?.values.reward !== undefined && { reward: first.values.reward }),
        };
        if (!first || 2 * alike.length < told.length) return pass(measured);
        const evidence = [
          { step: first.step, text: 'completions/max_length', values: { value: measured.tokens } },
        ];
        return measured.reward === 1 ? inform(measured, evidence) : warn(measured, evidence);
      },
      says: (m) =>
        say`In ${m.alike} of ${m.entries} entries every completion has ${m.tokens} tokens, and within each group the rewards are equal${m.reward === undefined ? '' : say` (${m.reward} on average)`}: the completions of a prompt are most likely one and the same text.`,
    }),
  ],
};

/** Whether all completions of an entry are as long as each other, and earn what their groups earn. */
function isAlike(values: Readonly<Record<string, number | undefined>>): boolean {
  const [least, most] = [values['completions/min_length']!, values['completions/max_length']];
  const isFlat = values.frac_reward_zero_std === 1 || values.reward_std === 0;
  return least === most && least >= WORDED && isFlat && !(values['completions/clipped_ratio']! > 0);
}

/** Gives Σ entropy of a completion's tokens: what −Σ log p is on average. NaN where it is not in the first update. */
function entropiesOf(record: StepRecord): (completion: number) => number {
  const [update] = record.updates ?? [];
  const members = update ? membersOf(record, update) : [];
  const entropies = inputs.comparableEntropies.from(record);
  return (completion) => {
    const row = entropies?.[members.indexOf(completion)];
    return row ? sum(withoutNaN(row)) : Number.NaN;
  };
}
