/** The tokens of one completion, number by number. */
import { inputs, membersOf, supportSizesOf, updateRows } from '../doctor/inputs.js';
import { known } from '../formats/known.js';
import type { StepRecord } from '../trace/index.js';
import { betaOf, slopesOf } from './loss-rows.js';
import { pieceOf } from './pieces.js';
import type { StepView } from './step-view.js';

/** In nats where it is a log-prob or an entropy; what is missing in the record is missing here. */
export interface TokenView {
  /** Place in the completion, from 0. */
  token: number;
  id?: number;
  /** Its text, where the record has it. */
  text?: string;
  /** Whether it enters the loss. */
  trained?: boolean;
  /** Ids that it could have been drawn from, where they were kept: log-probs and entropy are over them. */
  support?: number;
  sampler?: number;
  policy?: number;
  reference?: number;
  entropy?: number;
  ratio?: number;
  policyTerm?: number;
  klTerm?: number;
  weight?: number;
  /** d loss / d log π: by the policy's part of the loss, and by the KL's. */
  policySlope?: number;
  klSlope?: number;
}

/** @param name - of the completion, as `2.5` */
export function tokenViews(record: StepRecord, name: string, { completions }: StepView): TokenView[] {
  const { index } = completions.find((one) => one.name === name)!;
  const [update] = record.updates ?? [];
  const place = update ? membersOf(record, update).indexOf(index) : -1;
  const ofUpdate = (key: Parameters<typeof updateRows>[2]) => updateRows(record, update, key)?.[place];
  const ids = inputs.scoredIds.from(record)?.[index] ?? inputs.ids.from(record)?.[index];
  const slopes = update && slopesOf(record, update);
  const columns = {
    id: ids,
    sampler: inputs.behaviorLogprobs.from(record)?.[index],
    support: supportSizesOf(record, index),
    policy: ofUpdate('policyLogprobs'),
    reference: inputs.referenceLogprobs.from(record)?.[index],
    entropy: ofUpdate('entropies'),
    ratio: ofUpdate('ratios'),
    policyTerm: ofUpdate('policyTerms'),
    klTerm: ofUpdate('klTerms'),
    weight: ofUpdate('weights'),
    policySlope: slopes?.policy[place],
    klSlope: update && betaOf(record, update) !== 0 ? slopes?.kl[place] : undefined,
  };
  const mask = inputs.masks.from(record)?.[index];
  const count = Math.max(0, ...Object.values(columns).map((column) => column?.length ?? 0));
  const names = Object.keys(columns) as (keyof typeof columns)[];
  return Array.from({ length: count }, (_, token) => ({
    token,
    ...known({
      ...(Object.fromEntries(names.map((key) => [key, columns[key]?.[token]])) as Partial<TokenView>),
      text: ids && pieceOf(record, ids[token]!)?.text,
      trained: mask && mask[token] !== 0,
    }),
  }));
}
