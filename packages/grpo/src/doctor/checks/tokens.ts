/** The tokens that are scored are those that were sampled, from the first of the prompt to the end token. */
import { stepCheck } from '../check.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

export const tokenChecks = [
  stepCheck({
    code: 'B02.prompt',
    title: 'Completions are scored after the prompt that they were sampled from',
    stage: 'tokens',
    kind: 'identity',
    level: 2,
    threshold: 'every id of every prompt equal',
    source: 'identity; seed 002, bug 3',
    remedy: 'Hand the sampler’s prompt ids on to the scoring; do not render or encode the prompt again.',
    consequence,
    induces: ['B19', 'B35', 'B38', 'B39', 'B49', 'B51'],
    needs: ['promptIds', 'scoredPromptIds'],
    test({ promptIds, scoredPromptIds }) {
      const different = differences(promptIds, scoredPromptIds).map(({ row, ...rest }) => ({
        prompt: row,
        ...rest,
      }));
      const measured = { prompts: promptIds.length, different: different.length };
      return different.length > 0 ? fail(measured, different) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B07.ids',
    title: 'The completion tokens that are scored are the ones that were sampled',
    stage: 'tokens',
    kind: 'identity',
    level: 2,
    threshold: 'every id of every completion equal, and as many of them',
    source: 'identity; re-tokenised text gives other ids (trl#5224, verl#3720)',
    remedy: 'Keep the ids that the sampler returned and score those; do not decode and encode again.',
    consequence,
    induces: ['B08', 'B11', 'B19', 'B35', 'B37', 'B38', 'B39', 'B49', 'B51'],
    needs: ['ids', 'scoredIds', 'endIds'],
    test({ ids, scoredIds, endIds }) {
      const different = differences(ids, scoredIds)
        // A lost end token is another fault.
        .filter(({ row, token }) => !lostEnd(ids[row]!, scoredIds[row]!, token, endIds))
        .map(({ row, ...rest }) => ({ completion: row, ...rest }));
      const measured = { completions: ids.length, different: different.length };
      return different.length > 0 ? fail(measured, different) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B08.end',
    title: 'The end token of a completion is trained on',
    stage: 'tokens',
    kind: 'identity',
    level: 2,
    threshold: 'scored, and mask 1, at the end token of every completion that is trained on',
    source: 'identity; unsloth-zoo#832',
    remedy: 'Build the mask from lengths that count the end token; keep the end token when decoding to ids.',
    consequence,
    induces: ['B16'],
    needs: ['ids', 'endIds', 'scoredIds', 'masks'],
    test({ ids, endIds, scoredIds, masks }, { tokenizer }) {
      // Then the mask was probably made by comparing ids with the padding: B12.
      if (tokenizer?.padId !== undefined && endIds.includes(tokenizer.padId))
        return notApplicable('a padding token that ends nothing');
      const ended = endedRows(ids, endIds);
      const left = ended.filter((b) => !isTrained(masks[b]!, ids[b]!.length - 1, scoredIds[b]!));
      const measured = { ended: ended.length, left: left.length };
      const evidence = left.map(
        (completion): Evidence => ({ completion, token: ids[completion]!.length - 1 }),
      );
      return left.length > 0 ? fail(measured, evidence) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B12.padding',
    title: 'Where padding and end are one token, the mask keeps the end token',
    stage: 'masks',
    kind: 'identity',
    level: 2,
    threshold: 'mask 1 at the end token of every completion that is trained on',
    source: 'identity; trl#3091: a mask of ids ≠ pad loses the end token when pad = eos',
    remedy: 'Build masks from lengths, never by comparing ids with the padding token.',
    consequence,
    induces: ['B08', 'B16'],
    needs: ['ids', 'endIds', 'padId', 'scoredIds', 'masks'],
    test({ ids, endIds, padId, scoredIds, masks }) {
      if (!endIds.includes(padId)) return notApplicable('a padding token that is an end token');
      const ended = endedRows(ids, endIds).filter((b) => ids[b]!.at(-1) === padId);
      const left = ended.filter((b) => !isTrained(masks[b]!, ids[b]!.length - 1, scoredIds[b]!));
      const measured = { pad: padId, ended: ended.length, left: left.length };
      const evidence = left.map(
        (completion): Evidence => ({ completion, token: ids[completion]!.length - 1 }),
      );
      return left.length > 0 ? fail(measured, evidence) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B16.after-end',
    title: 'The model writes nothing after an end token',
    stage: 'generation',
    kind: 'identity',
    level: 2,
    threshold: 'no token of the model’s directly after one of tokenizer.endIds',
    source: 'identity; trl#7039: only one of two end tokens known to the sampler',
    remedy:
      'Give the sampler every end token: the tokenizer’s, those of generation_config.json, the template’s end of turn.',
    consequence,
    induces: ['B06', 'B09', 'B26'],
    needs: ['ids', 'endIds'],
    test({ ids, endIds }, record) {
      const sources = record.completions?.source;
      let offset = 0;
      const rambling = ids.flatMap((row, completion): Evidence[] => {
        const start = offset;
        offset += row.length;
        const at = row.findIndex(
          (id, t) => endIds.includes(id) && t + 1 < row.length && !sources?.[start + t + 1],
        );
        return at < 0
          ? []
          : [{ completion, token: at, values: { id: row[at]!, after: row.length - at - 1 } }];
      });
      const measured = { completions: ids.length, rambling: rambling.length };
      return rambling.length > 0 ? fail(measured, rambling) : pass(measured);
    },
  }),
];

/** Rows of which some id differs, with the first place. */
function differences(sampled: readonly Int32Array[], scored: readonly Int32Array[]) {
  return sampled.flatMap((own, row) => {
    const other = scored[row]!;
    const token = firstDifference(own, other);
    if (token === undefined) return [];
    return [{ row, token, values: { sampled: own[token] ?? 'nothing', scored: other[token] ?? 'nothing' } }];
  });
}

/** The first index at which two lists differ; the shorter’s length when one begins with the other. */
function firstDifference(a: ArrayLike<number>, b: ArrayLike<number>): number | undefined {
  const most = Math.max(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return undefined;
}

/** Whether the only difference is that the scored row lacks the end token. */
function lostEnd(sampled: Int32Array, scored: Int32Array, token: number, endIds: readonly number[]): boolean {
  return token === sampled.length - 1 && scored.length === token && endIds.includes(sampled[token]!);
}

/** Completions that an end token closed. */
function endedRows(ids: readonly Int32Array[], endIds: readonly number[]): number[] {
  return [...ids.keys()].filter((b) => ids[b]!.length > 0 && endIds.includes(ids[b]!.at(-1)!));
}

/** Whether a token enters the loss; a completion that is masked as a whole was left out on purpose. */
function isTrained(mask: Uint8Array, token: number, scored: Int32Array): boolean {
  return mask.every((value) => value === 0) || (token < scored.length && mask[token] === 1);
}
