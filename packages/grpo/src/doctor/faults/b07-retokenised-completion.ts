import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { differences } from '../measures/id-differences.js';
import { fail, pass, shorten } from '../outcome.js';
import { say } from '../sentence.js';

/**
 * How many prompts the differing completions belong to, if those prompts have at most one other each, which may be equal by
 * chance, and there are prompts without any; else 0.
 */
function wholePrompts(different: ReadonlySet<number>, promptOf: ArrayLike<number>): number {
  const all = Array.from(promptOf);
  const touched = new Set(all.filter((_, b) => different.has(b)));
  const isWhole = [...touched].every((prompt) => {
    const own = all.flatMap((one, b) => (one === prompt ? [b] : []));
    const same = own.filter((b) => !different.has(b)).length;
    return same <= 1 && own.length - same >= 2;
  });
  return isWhole && touched.size < new Set(all).size ? touched.size : 0;
}

export const b07: Fault = {
  code: 'B07',
  name: 'retokenised completion',
  title: 'The scored ids are not the sampled ids',
  checks: [
    stepCheck({
      code: 'B07.raw',
      title: 'Ids decode to text, not to the names of tokens',
      stage: 'tokens',
      level: 1,
      rank: 1,
      threshold:
        'no prompt has Ġ or Ċ where no message has one: so the vocabulary writes a space and a line break',
      why: 'Seen in a tokenizer that had lost its decoder: each character stood alone, “-12” was “- 1 2”, and the reward read that.',
      remedy:
        'Load the tokenizer anew from the model’s folder and decode the ids of “a b”: it must give that. Its tokenizer.json wants a decoder (ByteLevel).',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B03', 'B05', 'B20', 'B27', 'B28', 'B30', 'H01'],
      proofs: ['TRL run'],
      needs: ['messages', 'promptTexts'],
      test({ messages, promptTexts }) {
        const isRaw = (text: string) => /[ĠĊ]/.test(text);
        const isAsked = isRaw(JSON.stringify(messages));
        const raw = promptTexts.flatMap((text, prompt) =>
          isRaw(text) && !isAsked ? [{ prompt, text: shorten(text) }] : [],
        );
        const measured = { prompts: promptTexts.length, raw: raw.length };
        return raw.length > 0 ? fail(measured, raw) : pass(measured);
      },
      says: (m) =>
        say`The ids of ${m.raw} of ${m.prompts} prompts decode to texts with Ġ or Ċ, names of tokens for a space and a line break: the tokenizer does not decode, and rewards read something else than the model wrote.`,
    }),
    stepCheck({
      code: 'B07.ids',
      title: 'The completion tokens that are scored are the ones that were sampled',
      stage: 'tokens',
      level: 2,
      rank: 1,
      threshold:
        'every id of every completion is equal; rows of different length (B37, B14) and completions that are not scored do not count',
      sources: ['huggingface/trl#5224', 'verl-project/verl#3720', 'sgl-project/sglang#26555'],
      why: 'Decoding and encoding again gives different ids.',
      remedy:
        'Keep the ids that the sampler returned and score those; do not decode and encode again. Where whole completions were exchanged, exchange their prompts, ids and log-probs together: look at what overrides the generation or the buffer of the trainer.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B10', 'B11', 'B12', 'B14', 'B19', 'B35', 'B37', 'B38', 'B39', 'B49', 'B51', 'B55'],
      proofs: ['native'],
      needs: ['ids', 'scoredIds'],
      test({ ids, scoredIds }, { completions }) {
        const different = differences(ids, scoredIds)
          .filter(({ row, token }) => token < Math.min(ids[row]!.length, scoredIds[row]!.length))
          .map(({ row, ...rest }) => ({ completion: row, ...rest }));
        const places = new Set(different.map(({ completion }) => completion));
        const prompts = wholePrompts(places, completions?.prompt ?? []);
        const measured = { completions: ids.length, different: different.length, prompts };
        return different.length > 0 ? fail(measured, different) : pass(measured);
      },
      says: (m) =>
        say`${m.different} of ${m.completions} completions were scored with token ids that differ from the sampled ones.${m.prompts > 0 ? say` They are those of ${m.prompts} ${m.prompts === 1 ? 'prompt' : 'prompts'}, and nothing differs elsewhere: whole groups were exchanged after the sampling.` : ''}`,
    }),
  ],
};
