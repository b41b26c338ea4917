import { withoutNaN } from '../../maths/moments.js';
import { ends, longestRun } from '../../maths/trend.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import { at } from '../log-view.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Source of the model's own tokens. */
const MODEL = 0;

export const b16: Fault = {
  code: 'B16',
  name: 'sampler end tokens',
  title: 'End tokens are unknown to the sampler, or suppressed',
  checks: [
    stepCheck({
      code: 'B16.suppressed',
      title: 'The minimum length leaves completions room to end',
      stage: 'generation',
      kind: 'heuristic',
      level: 1,
      rank: 2,
      threshold:
        'not: a declared minimum length of half the maximum or more, with 95 % or more of the completions truncated',
      sources: [],
      why: 'Tokens that are forbidden are not drawn from the policy; half of the longest length is a choice of ours.',
      remedy: 'Lower the minimum length: the policy unlearns an end token that is never sampled.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B01', 'B18', 'B19', 'B26', 'B39'],
      settles: 'A step without a minimum length: either completions end by themselves, or not.',
      proofs: ['native'],
      needs: ['declared', 'finish'],
      test({ declared: { rollout }, finish }) {
        const { minNewTokens = 0, maxNewTokens } = rollout ?? {};
        if (minNewTokens === 0 || maxNewTokens === undefined)
          return notApplicable('a declared minimum and maximum length');
        const cut = finish.filter((reason) => reason === 'length').length;
        const measured = { least: minNewTokens, most: maxNewTokens, completions: finish.length, cut };
        return minNewTokens >= maxNewTokens / 2 && cut >= 0.95 * finish.length
          ? warn(measured)
          : pass(measured);
      },
      says: (m) =>
        say`A minimum length of ${m.least} of ${m.most} tokens forbids the end token: ${m.cut} of ${m.completions} completions were truncated.`,
    }),
    stepCheck({
      code: 'B16.after-end',
      title: 'The model generates nothing after its end token',
      stage: 'generation',
      kind: 'identity',
      level: 2,
      rank: 2,
      threshold: 'no token of the model’s directly after one of tokenizer.endIds that is the model’s',
      sources: ['huggingface/trl#7039', 'huggingface/open-r1#489'],
      why: 'The sampler knew only one of two end tokens.',
      remedy:
        'Give the sampler every end token: the tokenizer’s, those of generation_config.json, the template’s end of turn.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B06', 'B09', 'B26'],
      proofs: ['native'],
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
      says: (m) => say`${m.rambling} of ${m.completions} completions continue after an end token.`,
    }),
    stepCheck({
      code: 'B16.cut',
      title: 'Completions end by themselves',
      stage: 'generation',
      kind: 'heuristic',
      level: 8,
      rank: 1,
      threshold:
        'not 95 % or more of a step’s completions truncated; usual before a model has learnt to end, so it only informs',
      sources: ['huggingface/trl#5697', 'huggingface/trl#7039'],
      why: 'A limit of 256 tokens cut 97 %.',
      remedy:
        'Look at the last tokens of a completion: an end token that the sampler does not know, or too little room.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles:
        'The next steps: it falls where a model learns to end, and stays at 1 where the end token is unknown.',
      proofs: [],
      needs: ['finish'],
      test({ finish }) {
        const cut = finish.filter((reason) => reason === 'length').length;
        const measured = { completions: finish.length, cut, share: cut / finish.length };
        return measured.share >= 0.95 ? inform(measured) : pass(measured);
      },
      says: (m) => say`${m.cut} of ${m.completions} completions were truncated at the length limit.`,
    }),
    logCheck({
      code: 'B16.log',
      title: 'Completions end by themselves',
      stage: 'generation',
      kind: 'heuristic',
      level: 8,
      rank: 5,
      threshold:
        'not 95 % or more truncated in 3 entries in a row, from the first tenth of the run on; only informs where it is below a half in the end, or begins later: then B08.log shows whether it grew',
      sources: ['huggingface/trl#5697', 'huggingface/trl#7039'],
      why: 'A limit of 256 tokens cut 97 %.',
      remedy:
        'Look at the last tokens of a completion: an end token that the sampler does not know, or an answer that needs more room.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B26', 'B58'],
      settles: 'The set of end tokens that the engine used beside the template’s end of turn.',
      proofs: ['native', 'log only'],
      needs: ['completions/clipped_ratio'],
      test(log) {
        const cut = log.column('completions/clipped_ratio');
        const { start, length } = longestRun(cut, (share) => share >= 0.95);
        const fromStart = start <= cut.length / 10;
        const recovered = ends(cut).last < 0.5;
        const measured = { entries: withoutNaN(cut).length, inARow: length, fromStart, recovered };
        if (length < 3) return pass(measured);
        const evidence = [at(log, start, 'completions/clipped_ratio', cut[start]!)];
        return fromStart && !recovered ? warn(measured, evidence) : inform(measured, evidence);
      },
      says: (m) =>
        say`Nearly all completions are truncated in ${m.inARow} entries in a row${m.fromStart ? ', from the start' : ''}${m.recovered ? ', but not at the end of the run' : ''}: they do not end by themselves.`,
    }),
  ],
};
