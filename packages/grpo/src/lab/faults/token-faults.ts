/** Other tokens are trained on than were sampled. */
import type { Model } from '../../models/index.js';
import type { Completion } from '../../rollout/index.js';
import type { Groups } from '../../step/micro-batch.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import { lettersTask } from '../letters-task.js';
import { maskLoss } from '../mask-loss.js';
import type { PlantedFault, Variant } from './planted-fault.js';
import { rawQuestion } from './template-faults.js';

type Ids = readonly number[];

/** An assemble stage that changes each completion. */
const completions =
  (change: (ids: Ids, model: Model, all: readonly Ids[]) => Ids): Stages['assemble'] =>
  (model, { prompts, completions_B }) => {
    const all = completions_B.map(({ ids }) => ids);
    return { prompts, completions_B: all.map((ids) => ({ ids: change(ids, model, all) })) };
  };

const prompts =
  (change: (ids: Ids, model: Model) => Ids): Stages['assemble'] =>
  (model, sampled): Groups => ({
    ...sampled,
    prompts: sampled.prompts.map(({ ids }) => ({ ids: change(ids, model) })),
  });

/** A text's tokens, and the end token that it had. */
function again({ tokenizer, endIds }: Model, ids: Ids, change: (text: string) => string): Ids {
  const end = endIds.has(ids.at(-1)!) ? [ids.at(-1)!] : [];
  return [...tokenizer.encode(change(tokenizer.decodeCompletion(ids, { endIds }))), ...end];
}

const longest = (all: readonly Ids[]) => Math.max(...all.map((ids) => ids.length));
const filled = (ids: Ids, length: number, pad: number) => [
  ...ids,
  ...Array<number>(length - ids.length).fill(pad),
];

/** The two-letter question beside long ones, so that padding is wide. */
const UNEVEN = [2, 22] as const;

/** A run of prompts of uneven length whose completions are cut out of the padded rows wrongly. */
const cutWithinPrompt =
  (cut: (model: Model, one: Completion, prompt: Ids, width: number) => Completion): Variant['run'] =>
  () => ({
    task: lettersTask({ lengths: UNEVEN }),
    settings: ['rollout.prompts=8'],
    stages: {
      async sample(model, requests, options, seed) {
        const groups = await standard.sample(model, requests, options, seed);
        const width = longest(requests.map(({ ids }) => ids));
        return groups.map((group, p) => group.map((one) => cut(model, one, requests[p]!.ids, width)));
      },
    },
  });

export const tokenFaults: readonly PlantedFault[] = [
  {
    code: 'B02',
    variants: [
      {
        name: 'the raw question without its conversation',
        run: () => {
          let seen: Parameters<Stages['render']>[1] = [];
          return {
            stages: {
              render(model, problems) {
                seen = problems;
                return standard.render(model, problems);
              },
              assemble: (model, sampled) => ({
                ...sampled,
                prompts: seen.map((problem) => ({ ids: rawQuestion(model, problem) })),
              }),
            },
          };
        },
      },
      { name: 'cut on the left', run: () => ({ stages: { assemble: prompts((ids) => ids.slice(2)) } }) },
      {
        name: 'rendered again without the generation prompt',
        run: () => ({ stages: { assemble: prompts((ids) => ids.slice(0, -1)) } }),
      },
    ],
  },
  {
    code: 'B07',
    variants: [
      {
        name: 'decoded and encoded again',
        run: () => ({
          // Hot enough that a text is also sampled in other pieces than the tokenizer would choose.
          settings: ['rollout.temperature=1.3'],
          stages: { assemble: completions((ids, model) => again(model, ids, (text) => text)) },
        }),
      },
      {
        name: 'text normalised: a space in front, the full stop stripped',
        run: () => ({
          stages: {
            assemble: completions((ids, model) => again(model, ids, (text) => ` ${text.replace(/\.$/, '')}`)),
          },
        }),
      },
    ],
  },
  {
    code: 'B08',
    variants: [
      {
        name: 'text decoded without it and never given back',
        run: () => ({
          stages: {
            assemble: completions((ids, { endIds }) => (endIds.has(ids.at(-1)!) ? ids.slice(0, -1) : ids)),
          },
        }),
      },
      {
        name: 'mask ends one token early',
        run: () => ({ stages: maskLoss((ids) => ids.map((_, t) => Number(t < ids.length - 1))) }),
      },
    ],
  },
  {
    code: 'B10',
    variants: [
      {
        name: 'text and ids begin within the prompt',
        run: cutWithinPrompt((model, one, prompt, width) => {
          // The row as the sampler returns it, cut where the prompt would end without its padding.
          const row = [...filled([], width - prompt.length, model.tokenizer.padId!), ...prompt, ...one.ids];
          const ids = row.slice(prompt.length);
          const unknown = new Float32Array(ids.length - one.ids.length).fill(Number.NaN);
          return {
            ...one,
            ids,
            text: model.tokenizer.decodeCompletion(ids, model),
            logprobs: Float32Array.of(...unknown, ...one.logprobs),
            sampledLogprobs: Float32Array.of(...unknown, ...one.sampledLogprobs),
          };
        }),
      },
      {
        name: 'the text alone begins within the prompt',
        run: cutWithinPrompt(({ tokenizer }, one, prompt, width) => {
          const end = tokenizer.decode(prompt.slice(Math.max(0, 2 * prompt.length - width)));
          return { ...one, text: end + one.text };
        }),
      },
    ],
  },
  {
    code: 'B11',
    variants: [
      {
        name: 'begins as if padding were on the right',
        run: () => ({ stages: maskLoss((ids) => ids.map((_, t) => Number(t >= 2))) }),
      },
      {
        name: 'nothing of the completions of odd length',
        run: () => ({ stages: maskLoss((ids) => ids.map(() => Number(ids.length % 2 === 0))) }),
      },
      {
        name: 'every second token',
        run: () => ({ stages: maskLoss((ids) => ids.map((_, t) => t % 2)) }),
      },
      {
        name: 'the length of the shortest completion for all',
        run: () => ({ stages: maskLoss((ids) => ids.map((_, t) => Number(t < 3))) }),
      },
    ],
  },
  {
    code: 'B12',
    variants: [
      {
        name: 'mask built as ids ≠ pad',
        run: () => {
          let pad = -1;
          return {
            policy: { padIsEnd: true },
            stages: {
              ...maskLoss((ids) => ids.map((id) => Number(id !== pad))),
              assemble: (model, sampled) => {
                pad = model.tokenizer.padId!;
                return sampled;
              },
            },
          };
        },
      },
      {
        name: 'padding trimmed off the ids',
        run: () => ({
          policy: { padIsEnd: true },
          stages: {
            assemble: completions((ids, { tokenizer }) => ids.filter((id) => id !== tokenizer.padId)),
          },
        }),
      },
    ],
  },
  {
    code: 'B14',
    variants: [
      {
        name: 'rows of one length',
        run: () => ({
          stages: {
            assemble: completions((ids, { tokenizer }, all) => filled(ids, longest(all), tokenizer.padId!)),
          },
        }),
      },
      {
        name: 'the end of the turn pads',
        run: () => ({
          policy: { padIsEnd: true },
          stages: {
            assemble: completions((ids, { tokenizer }, all) => filled(ids, longest(all), tokenizer.padId!)),
          },
        }),
      },
    ],
  },
];
