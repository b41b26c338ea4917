import { largest } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import { CUT_ENTRIES, MOSTLY_CUT } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import { otherStops, paddingFrom } from '../measures/end-token.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Completions that a limit of its own may cut. */
const FEW_CUT = 3;
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
      level: 1,
      rank: 2,
      threshold:
        'the declared minimum length is below half the maximum, or fewer than 95 % of the completions are truncated',
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
      level: 2,
      rank: 2,
      threshold:
        'no token of the model directly follows an end token of the model (tokenizer.endIds); padding that fills the rest of a row is none of its tokens',
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
          if (paddingFrom(row, endIds, record.tokenizer?.padId) !== undefined) return [];
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
      code: 'B16.other',
      title: 'Completions end at an end token that the trainer knows',
      stage: 'generation',
      level: 2,
      rank: 2,
      threshold:
        'without declared stop strings and tools, every completion that ended has one of tokenizer.endIds as its last token; it warns from a twentieth of them on',
      why: 'Seen with a line break among the end tokens of the generation settings: the trainer, which knew the tokenizer’s alone, took such completions for cut off, and graded answers that ended too early.',
      remedy:
        'Compare eos_token_id and the stops of the generation settings with the tokenizer’s end token: what ends a completion there must be one that the trainer masks behind.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B09', 'B14', 'B16', 'B26', 'B27', 'B30'],
      settles: 'The last token of these completions, beside the end tokens of both sides.',
      proofs: ['TRL run'],
      needs: ['ids', 'finish', 'endIds'],
      test({ ids, finish, endIds }, record) {
        if ((record.declared?.stop ?? []).length > 0) return notApplicable('completions that no string ends');
        const sources = inputs.sources.from(record);
        if (sources?.some((row) => row.some((source) => source !== MODEL)))
          return notApplicable('completions that are the model’s as a whole');
        const ended = ids.flatMap((row, b) => (finish[b] === 'stop' && row.length > 0 ? [b] : []));
        const pad = record.tokenizer?.padId;
        const other = ended.filter((b) => ![...endIds, pad].includes(ids[b]!.at(-1)!));
        const by = otherStops(record);
        const measured = {
          ended: ended.length,
          other: other.length,
          ...(by.length > 0 && { by: by.join(' and ') }),
        };
        const evidence = other.map((completion) => ({
          completion,
          token: ids[completion]!.length - 1,
          values: { id: ids[completion]!.at(-1)! },
        }));
        return other.length > 0 && other.length >= ended.length / 20
          ? warn(measured, evidence)
          : pass(measured);
      },
      says: (m) =>
        say`${m.other} of ${m.ended} completions that ended end in a token that is no end token of the tokenizer: the sampler stops ${m.by === undefined ? 'at more than the trainer knows' : say`by ${m.by} as well (generation_kwargs or generation_config.json), and the trainer takes such completions for cut off`}.`,
    }),
    stepCheck({
      code: 'B16.cut',
      title: 'Completions end by themselves',
      stage: 'generation',
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
      needs: ['finish'],
      test({ finish }) {
        const cut = finish.filter((reason) => reason === 'length').length;
        const measured = { completions: finish.length, cut, share: cut / finish.length };
        return measured.share >= 0.95 ? inform(measured) : pass(measured);
      },
      says: (m) => say`${m.cut} of ${m.completions} completions were truncated at the length limit.`,
    }),
    stepCheck({
      code: 'B16.short',
      title: 'Completions are cut at the declared limit',
      stage: 'generation',
      level: 2,
      rank: 2,
      threshold: `no ${FEW_CUT} completions or more are truncated, all at one length below the declared limit, while none is longer`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Another limit than the declared one cuts answers that would have had room.',
      remedy:
        'Compare the limit that the engine was given with the declared one, and the context that is left to it.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B16', 'B09', 'B20', 'B27', 'B28', 'B30'],
      settles: 'The number of new tokens that generation is asked for, printed.',
      proofs: ['native'],
      needs: ['finish', 'lengths', 'declared'],
      test({ finish, lengths, declared }, { diffusion }) {
        const limit = declared.rollout?.maxNewTokens;
        if (limit === undefined || diffusion) return notApplicable('declared.rollout.maxNewTokens');
        const cut = [...lengths].filter((_, b) => finish[b] === 'length');
        const measured = { cut: cut.length, at: largest(cut), longest: largest(lengths), limit };
        const isOne = cut.every((length) => length === cut[0]);
        return cut.length >= FEW_CUT && isOne && measured.at < limit && measured.longest <= measured.at
          ? warn(measured)
          : pass(measured);
      },
      says: (m) =>
        say`${m.cut} completions are cut at ${m.at} tokens; ${m.limit} are declared, and none is longer than ${m.longest}.`,
    }),
    logCheck({
      code: 'B16.log',
      title: 'Completions end by themselves',
      stage: 'generation',
      level: 4,
      rank: 8,
      threshold: `in at least ${CUT_ENTRIES} entries, fewer than three quarters of the completions are truncated in the first eighth, or in the mean of the run; B08.log judges a rise. Not applicable where the declared limit is one token`,
      sources: ['huggingface/trl#5697', 'huggingface/trl#7039'],
      why: 'At three quarters a group of four has one answer that ends; the reward grades unfinished ones. Runs that learn lie at up to a half.',
      remedy:
        'Look at the last tokens of a completion: either the sampler does not know the end token, or the answer needs more tokens.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B26', 'B58', 'B30', 'B09'],
      settles: 'Compare the end tokens that the engine used with the template’s end of turn.',
      proofs: ['native', 'log only'],
      needs: ['completions/clipped_ratio'],
      test(log) {
        if (log.declared.rollout?.maxNewTokens === 1) return notApplicable('room for more than one token');
        const cut = log.course.of('cut');
        if (!cut || cut.points.length < CUT_ENTRIES) return notApplicable(`${CUT_ENTRIES} entries`);
        const { start, end, mean } = cut;
        const longest = largest(log.column('completions/max_length'));
        const measured = { start, end, mean, ...(longest > 0 && { limit: longest }) };
        const [first] = cut.points;
        return Math.min(start, mean) < MOSTLY_CUT
          ? pass(measured)
          : warn(measured, [
              { step: first!.step, text: 'completions/clipped_ratio', values: { value: first!.value } },
            ]);
      },
      ranges: () => [{ metric: 'completions/clipped_ratio', high: MOSTLY_CUT }],
      says: (m) =>
        say`Nearly all completions are truncated from the start${m.limit === undefined ? '' : say` (at ${m.limit} tokens)`}: ${percent(m.start)} in the first eighth of the run, ${percent(m.end)} in the last, ${percent(m.mean)} of all. They do not end by themselves, so the reward grades unfinished answers.`,
    }),
  ],
};
