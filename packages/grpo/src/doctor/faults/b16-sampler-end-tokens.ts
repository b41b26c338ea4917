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
        'the declared minimum length is below half the maximum, or fewer than 95 % of the completions are truncated',
      sources: [],
      why: 'Forbidden tokens are not sampled from the policy. The bound of half the maximum length is our choice.',
      remedy: 'Lower the minimum length: the policy unlearns an end token that is never sampled.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B01', 'B18', 'B19', 'B26', 'B39'],
      settles: 'Run a step without a minimum length: completions either end by themselves, or do not.',
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
        say`The minimum length of ${m.least} tokens (maximum ${m.most}) suppresses the end token: ${m.cut} of ${m.completions} completions were truncated.`,
    }),
    stepCheck({
      code: 'B16.after-end',
      title: 'The model generates nothing after its end token',
      stage: 'generation',
      kind: 'identity',
      level: 2,
      rank: 2,
      threshold: 'no token of the model directly follows an end token of the model (tokenizer.endIds)',
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
        'fewer than 95 % of a step’s completions are truncated; more is usual before a model has learnt to end, so the check only informs',
      sources: ['huggingface/trl#5697', 'huggingface/trl#7039'],
      why: 'A limit of 256 tokens truncated 97 % of the completions.',
      remedy:
        'Look at the last tokens of a completion: either the sampler does not know the end token, or the length limit is too low.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles:
        'The share in the next steps: it falls when the model learns to end, and stays at 1 when the sampler does not know the end token.',
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
        'no 3 entries in a row in which 95 % or more of the completions are truncated; only informs where these entries start after the first tenth of the run (B08.log judges a rise), or where the share is below a half at the end',
      sources: ['huggingface/trl#5697', 'huggingface/trl#7039'],
      why: 'A limit of 256 tokens truncated 97 % of the completions.',
      remedy:
        'Look at the last tokens of a completion: either the sampler does not know the end token, or the answer needs more tokens.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B26', 'B58'],
      settles: 'Compare the end tokens that the engine used with the template’s end of turn.',
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
