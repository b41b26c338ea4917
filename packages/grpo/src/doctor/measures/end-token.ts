/** Whether end tokens enter the loss. */

import { isObject } from '../../formats/json.js';
import { nonzero } from '../../maths/moments.js';
import type { StepRecord } from '../../trace/index.js';
import { type Inputs, inputs } from '../inputs.js';
import { type Evidence, fail, type Measurements, notApplicable, type Outcome, pass } from '../outcome.js';
import { estimatedTokens } from './mask-plans.js';

/** Source of the model's own tokens. */
const MODEL = 0;
/** Matches what ends completions by itself: the limit and the end tokens. */
const USUAL_STOP = /^(MaxLength|EosToken)Criteria$/;

/** Returns the criteria besides limit and end tokens by which the sampler of transformers stops, such as a clock or strings. */
export function otherStops({ settings }: StepRecord): string[] {
  const { stoppingCriteria: criteria } = isObject(settings) ? settings : {};
  return Array.isArray(criteria) ? criteria.map(String).filter((name) => !USUAL_STOP.test(name)) : [];
}

/** Whether the end tokens that fulfil `ours` enter the loss; completions that are masked as a whole are left out on purpose. */
export function endsTrained<K extends Measurements>(
  { ids, endIds, scoredIds, masks }: Pick<Inputs, 'ids' | 'endIds' | 'scoredIds' | 'masks'>,
  record: StepRecord,
  ours: (id: number) => boolean,
  nothing: string,
  known: K,
): Outcome<K & { ended: number; left: number }> {
  const sources = inputs.sources.from(record);
  const isHidden = estimatedTokens(record);
  if (!isHidden) return notApplicable(inputs.plans.path);
  const ended = [...ids.keys()].filter((b) => {
    const last = ids[b]!.at(-1);
    // A template may close a turn with an end token that is not the model's.
    return (
      last !== undefined &&
      endIds.includes(last) &&
      ours(last) &&
      (sources?.[b]?.at(-1) ?? MODEL) === MODEL &&
      isHidden(b, ids[b]!.length - 1)
    );
  });
  if (ended.length === 0) return notApplicable(nothing);
  const left = ended.flatMap((b): Evidence[] => {
    const token = ids[b]!.length - 1;
    const trained = token < scoredIds[b]!.length && masks[b]![token] === 1;
    return trained || nonzero(masks[b]!) === 0 ? [] : [{ completion: b, token }];
  });
  const measured = { ...known, ended: ended.length, left: left.length };
  return left.length > 0 ? fail(measured, left) : pass(measured);
}

/**
 * The place of the first padding token, in a row that has nothing but padding behind its first end token: such a batch was
 * not cut at the ends of its completions. Undefined for other rows.
 */
export function paddingFrom(
  row: Int32Array,
  endIds: readonly number[],
  padId: number | undefined,
): number | undefined {
  const end = row.findIndex((id) => endIds.includes(id));
  if (end < 0 || end + 1 >= row.length || padId === undefined) return undefined;
  return row.subarray(end + 1).every((id) => id === padId) ? end + 1 : undefined;
}

/** The place of the first padding token, in a row that ends with two or more; undefined for other rows. */
export function paddedFrom(row: Int32Array, padId: number): number | undefined {
  let from = row.length;
  while (from > 0 && row[from - 1] === padId) from--;
  return row.length - from >= 2 ? from : undefined;
}
