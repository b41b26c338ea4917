/** The end token: sampled once, then trained on. */
import type { StepRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { type Inputs, inputs } from '../inputs.js';
import {
  type Evidence,
  fail,
  inform,
  type Measured,
  notApplicable,
  type Outcome,
  pass,
  warn,
} from '../outcome.js';
import { nonzero } from '../statistics.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

/** Source of the model's own tokens. */
const MODEL = 0;

export const endChecks = [
  stepCheck({
    code: 'B08.end',
    title: 'The end token of a completion is trained on',
    stage: 'masks',
    kind: 'identity',
    level: 2,
    threshold: 'scored, and mask 1, at the end token of every completion that is trained on',
    source: 'identity; unsloth-zoo#832',
    remedy: 'Build the mask from lengths that count the end token; keep the end token when decoding to ids.',
    consequence,
    induces: ['B16'],
    needs: ['ids', 'endIds', 'scoredIds', 'masks'],
    test(given, record) {
      const padId = record.tokenizer?.padId;
      // A lost end token that is the padding token was probably lost by comparing ids: B12.
      return endsTrained(
        given,
        record,
        (id) => id !== padId,
        'a completion that an end token other than padding closed',
      );
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
    test(given, record) {
      const { endIds, padId } = given;
      if (!endIds.includes(padId)) return notApplicable('a padding token that is an end token');
      return endsTrained(given, record, (id) => id === padId, 'a completion that the padding token closed', {
        pad: padId,
      });
    },
  }),
  stepCheck({
    code: 'B16.after-end',
    title: 'The model writes nothing after an end token of its own',
    stage: 'generation',
    kind: 'identity',
    level: 2,
    threshold: 'no token of the model’s directly after one of tokenizer.endIds that is the model’s',
    source: 'identity; trl#7039: only one of two end tokens known to the sampler',
    remedy:
      'Give the sampler every end token: the tokenizer’s, those of generation_config.json, the template’s end of turn.',
    consequence,
    induces: ['B06', 'B09', 'B26'],
    needs: ['ids', 'endIds'],
    test({ ids, endIds }, record) {
      const sources = inputs.sources.from(record);
      const rambling = ids.flatMap((row, completion): Evidence[] => {
        const own = (t: number) => (sources?.[completion]?.[t] ?? MODEL) === MODEL;
        for (let token = 0; token + 1 < row.length; token++) {
          if (endIds.includes(row[token]!) && own(token) && own(token + 1))
            return [{ completion, token, values: { id: row[token]!, after: row.length - token - 1 } }];
        }
        return [];
      });
      const measured = { completions: ids.length, rambling: rambling.length };
      return rambling.length > 0 ? fail(measured, rambling) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B16.suppressed',
    title: 'The least length leaves completions room to end',
    stage: 'generation',
    kind: 'heuristic',
    level: 1,
    threshold:
      'not: a declared least length of half the longest or more, with 95 % or more of the completions cut off',
    source: 'seed 000: the end forbidden for the first tokens; proposal',
    remedy:
      'Lower the least length: forbidden tokens are not drawn from the policy, and the end is unlearnt.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B01', 'B18', 'B19', 'B26', 'B39'],
    settles: 'A step without a least length: whether completions end by themselves.',
    needs: ['declared', 'finish'],
    test({ declared: { minNewTokens = 0, maxNewTokens }, finish }) {
      if (minNewTokens === 0 || maxNewTokens === undefined)
        return notApplicable('a least and a longest length, declared');
      const cut = finish.filter((reason) => reason === 'length').length;
      const measured = { least: minNewTokens, most: maxNewTokens, completions: finish.length, cut };
      return minNewTokens >= maxNewTokens / 2 && cut >= 0.95 * finish.length
        ? warn(measured)
        : pass(measured);
    },
  }),
  stepCheck({
    code: 'B16.cut',
    title: 'Completions end by themselves',
    stage: 'generation',
    kind: 'heuristic',
    level: 8,
    threshold:
      'not 95 % or more of a step’s completions cut off; usual before a model has learnt to end, so it only informs',
    source: 'seed 000; trl#5697: a limit of 256 tokens cut 97 %',
    remedy:
      'Look at the last tokens of a completion: an end token that the sampler does not know, or too little room.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles:
      'The next steps: it falls where a model learns to end, and stays at 1 where the end token is unknown.',
    needs: ['finish'],
    test({ finish }) {
      const cut = finish.filter((reason) => reason === 'length').length;
      const measured = { completions: finish.length, cut, share: cut / finish.length };
      return measured.share >= 0.95 ? inform(measured) : pass(measured);
    },
  }),
];

/** Whether the end tokens that fulfil `ours` enter the loss; completions that are masked as a whole are left out on purpose. */
function endsTrained(
  { ids, endIds, scoredIds, masks }: Pick<Inputs, 'ids' | 'endIds' | 'scoredIds' | 'masks'>,
  record: StepRecord,
  ours: (id: number) => boolean,
  nothing: string,
  known: Measured = {},
): Outcome {
  const sources = inputs.sources.from(record);
  const ended = [...ids.keys()].filter((b) => {
    const last = ids[b]!.at(-1);
    // A template may close a turn with an end token that is not the model's.
    return (
      last !== undefined && endIds.includes(last) && ours(last) && (sources?.[b]?.at(-1) ?? MODEL) === MODEL
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
