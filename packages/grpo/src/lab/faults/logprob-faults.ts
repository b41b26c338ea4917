/** Log-probs are not those of the tokens under the policy. */
import { cat, Generator, type Tensor, tensor, zeros } from '@grpo/torch';
import { type Decoder, packSegments } from '../../models/index.js';
import type { ScoredGroup, TokenScores } from '../../objective/index.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import type { LabRun } from '../lab-run.js';
import { plainScores, type ScoringDetails, scoreRows } from '../plain-scores.js';
import type { PlantedFault } from './planted-fault.js';

const plainly =
  (details: ScoringDetails): Stages['logprob'] =>
  (decoder, groups, temperature) =>
    plainScores(decoder, groups, temperature, details);

const isTrained = ({ parameters }: Decoder) =>
  [...parameters.values()].some(({ requiresGrad }) => requiresGrad);

/** Scores the reference otherwise than the policy. */
const referenceAlone = (score: Stages['logprob'], settings: readonly string[] = []): LabRun => ({
  settings: ['kl.beta=0.05', ...settings],
  stages: {
    logprob: (decoder, ...rest) => (isTrained(decoder) ? standard.logprob : score)(decoder, ...rest),
  },
});

/** Zeroes a share of the hidden states, other ones at each call; only for the decoders that are meant. */
function dropout(share: number, isMeant = isTrained): Stages['logprob'] {
  const generator = new Generator(1);
  const hidden = (x: Tensor) => {
    const kept = zeros(x.shape).uniform_(0, 1, { generator }).ge(share).to(x.dtype);
    return x.mul(kept).div(1 - share);
  };
  return (decoder, groups, temperature) => {
    return isMeant(decoder)
      ? plainScores(decoder, groups, temperature, { hidden })
      : standard.logprob(decoder, groups, temperature);
  };
}

/** The completions of a group one after another, with nothing to keep them apart. */
function packedTogether(decoder: Decoder, groups: readonly ScoredGroup[], temperature: number): TokenScores {
  const scores = groups.map(({ prompt, completions }) => {
    const all = completions.flat();
    const packed = packSegments([{ ids: [...prompt, ...all] }], decoder.config, decoder.device);
    const logits_LV = decoder.logits(decoder.hidden(packed, packed.attend));
    const rows = all.map((_, t) => prompt.length - 1 + t);
    return scoreRows(logits_LV, rows, all, temperature);
  });
  return {
    logprobs_T: cat(scores.map(({ logprobs_T }) => logprobs_T)),
    entropies_T: cat(scores.map(({ entropies_T }) => entropies_T)),
  };
}

/** Shorter prompts filled up on the left, and the filling attended to. */
const padding: ScoringDetails = {
  prefix: ({ prompt }, all) =>
    Array<number>(Math.max(...all.map((group) => group.prompt.length)) - prompt.length).fill(0),
};

/** The scores of each completion at one of its tokens only, which all others take over. */
const broadcast: Stages['logprob'] = (decoder, groups, temperature) => {
  const { logprobs_T, entropies_T } = standard.logprob(decoder, groups, temperature);
  let start = 0;
  const lasts = groups.flatMap(({ completions }) =>
    completions.flatMap(({ length }) => {
      start += length;
      return Array<number>(length).fill(start - 1);
    }),
  );
  const index = tensor(lasts, undefined, { dtype: 'int64', device: decoder.device });
  return { logprobs_T: logprobs_T.indexSelect(0, index), entropies_T: entropies_T.indexSelect(0, index) };
};

export const logprobFaults: readonly PlantedFault[] = [
  {
    code: 'B13',
    variants: [
      { name: 'padding on the left attended to', run: () => ({ stages: { logprob: plainly(padding) } }) },
      {
        name: 'in GPT-2, whose positions are absolute',
        run: () => ({ policy: { family: 'gpt2' }, stages: { logprob: plainly(padding) } }),
      },
      { name: 'packed completions see one another', run: () => ({ stages: { logprob: packedTogether } }) },
    ],
  },
  {
    code: 'B35',
    variants: [
      {
        name: 'a token scored by the logits after it',
        run: () => ({ stages: { logprob: plainly({ row: (t, prompt) => prompt + t }) } }),
      },
      {
        name: 'a token scored by the logits two before it',
        run: () => ({ stages: { logprob: plainly({ row: (t, prompt) => prompt - 2 + t }) } }),
      },
    ],
  },
  {
    code: 'B36',
    variants: [
      {
        name: 'all tokens read from row 0',
        run: () => ({ stages: { logprob: plainly({ row: (_, prompt) => prompt - 1 }) } }),
      },
      {
        name: 'all tokens read from the last row',
        run: () => ({ stages: { logprob: plainly({ row: (_, prompt, length) => prompt + length - 2 }) } }),
      },
    ],
  },
  {
    code: 'B37',
    variants: [
      { name: 'the last position broadcast to all', run: () => ({ stages: { logprob: broadcast } }) },
      {
        name: 'cut to the shorter of two lengths',
        run: () => ({
          stages: {
            assemble: (_, { prompts, completions_B }) => ({
              prompts,
              completions_B: completions_B.map(({ ids }) => ({ ids: ids.slice(0, 1) })),
            }),
          },
        }),
      },
    ],
  },
  {
    code: 'B38',
    variants: [
      { name: 'p 0.1', run: () => ({ stages: { logprob: dropout(0.1) } }) },
      {
        name: 'p 0.1, with a reference in evaluation mode',
        run: () => ({ settings: ['kl.beta=0.05'], stages: { logprob: dropout(0.1) } }),
      },
      {
        name: 'p 0.1 in the reference alone',
        run: () => referenceAlone(dropout(0.1, () => true)),
      },
      {
        name: 'the reference scored at temperature 1',
        run: () =>
          referenceAlone(
            (decoder, groups) => standard.logprob(decoder, groups, 1),
            ['rollout.temperature=0.7'],
          ),
      },
      { name: 'p 0.01', run: () => ({ stages: { logprob: dropout(0.01) } }) },
    ],
  },
];
