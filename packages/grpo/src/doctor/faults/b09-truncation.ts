import { withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import { CUT_ENTRIES, MOSTLY_CUT } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import type { Inputs } from '../inputs.js';
import { type Evidence, inform, notApplicable, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Share of truncated completions from which many rewards grade unfinished answers. */
const CUT = 0.15;
/** Share that leaves no whole answers to grade. */
const ALL_CUT = 0.95;
/** Share of prompts at the limit above which some were probably cut. */
const AT_LIMIT = 0.01;

export const b09: Fault = {
  code: 'B09',
  name: 'truncation',
  title: 'Prompts or completions are truncated silently',
  checks: [
    stepCheck({
      code: 'B09.text',
      title: 'The ids of a prompt spell its text',
      stage: 'template',
      kind: 'heuristic',
      level: 1,
      rank: 1,
      threshold:
        'no prompt whose ids spell a part of its text, and none whose ids have less than half of its white space; special tokens, letter case and Unicode’s forms do not count, and a text that is a part of what the ids spell is right',
      sources: ['huggingface/trl#3569', 'huggingface/trl#3601'],
      why: 'A truncated prompt lacks the end of its question, or its header; a tokenizer that was loaded as one of another family drops spaces and line breaks.',
      remedy:
        'Decode the ids of one prompt and compare. Where the end lacks, raise the limit; where white space lacks, load the tokenizer by the class that its model uses.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B03', 'B19', 'B30'],
      settles: 'The ids of such a prompt, decoded with special tokens, beside the rendered text.',
      proofs: [],
      needs: ['promptTexts', 'promptIds', 'pieces'],
      test({ promptTexts, promptIds, pieces }, record) {
        const spell = spelling(pieces);
        const special = Object.values(record.tokenizer?.specialTokens ?? {});
        const judged = promptTexts.map((text, prompt) => {
          const [asked, found] = [text, spell(promptIds[prompt]!)].map((one) => without(special, one));
          return { prompt, ...compareTexts(asked!, found!) };
        });
        const wrong = judged.filter(({ lacks }) => lacks !== undefined);
        const measured = { prompts: judged.length, wrong: wrong.length, lacks: wrong[0]?.lacks ?? 'nothing' };
        return wrong.length > 0
          ? warn(
              measured,
              wrong.map(({ prompt, missing }) => ({ prompt, text: missing })),
            )
          : pass(measured);
      },
      says: (m) =>
        m.lacks === 'white space'
          ? say`The ids of ${m.wrong} of ${m.prompts} prompts spell their text without its spaces and line breaks: the tokenizer is not the one that the model was trained with.`
          : say`The ids of ${m.wrong} of ${m.prompts} prompts spell a part of their text only: ${m.lacks} of it lacks, cut off before the model saw it.`,
    }),
    stepCheck({
      code: 'B09.prompt',
      title: 'Prompts are not truncated at the length limit',
      stage: 'template',
      kind: 'heuristic',
      level: 1,
      rank: 1,
      threshold: `at most ${100 * AT_LIMIT} % of the prompts, or one of several, are as long as the limit`,
      sources: ['huggingface/trl#3569', 'huggingface/trl#3601', 'huggingface/trl#4358'],
      remedy:
        'Raise the limit, or leave out rows that do not fit: a truncated prompt loses its question or its header.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles:
        'The rendered text of such a prompt: it must begin with the first turn and end with the header.',
      proofs: [],
      needs: ['declared', 'promptIds'],
      test({ declared: { maxPromptTokens }, promptIds }) {
        if (maxPromptTokens === undefined) return notApplicable('declared.maxPromptTokens');
        const atLimit = promptIds.flatMap((ids, prompt): Evidence[] =>
          ids.length >= maxPromptTokens ? [{ prompt, values: { tokens: ids.length } }] : [],
        );
        const measured = { limit: maxPromptTokens, prompts: promptIds.length, atLimit: atLimit.length };
        // One may have that length by chance.
        const many = atLimit.length > Math.max(AT_LIMIT * promptIds.length, promptIds.length > 1 ? 1 : 0);
        return many ? warn(measured, atLimit) : pass(measured);
      },
      says: (m) =>
        say`${m.atLimit} of ${m.prompts} prompts have exactly the ${m.limit} allowed tokens: they were probably truncated.`,
    }),
    logCheck({
      code: 'B09.log',
      title: 'Few completions are truncated',
      stage: 'generation',
      kind: 'heuristic',
      level: 8,
      rank: 7,
      threshold: `the median share of truncated completions is below ${100 * CUT} %; over ${CUT_ENTRIES} entries or more B16.log judges ${100 * MOSTLY_CUT} % and above, and over fewer this one warns of ${100 * ALL_CUT} %`,
      sources: ['huggingface/trl#5697'],
      why: `Trainers disagree on how many truncated completions are too many, so the check only informs; where ${100 * ALL_CUT} % are, no answer is whole.`,
      remedy:
        'Raise max_new_tokens, ask for shorter answers, or leave truncated completions out of the loss.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B30', 'B20', 'B28'],
      settles: 'Compare the rewards of truncated completions with those of complete ones.',
      proofs: [],
      needs: ['completions/clipped_ratio'],
      test(log) {
        const cut = withoutNaN(log.column('completions/clipped_ratio'));
        if (cut.length === 0) return notApplicable('a share that is a number');
        const measured = { entries: cut.length, share: median(cut) };
        const isJudged = measured.share >= MOSTLY_CUT && cut.length >= CUT_ENTRIES;
        if (measured.share >= ALL_CUT && !isJudged) return warn(measured);
        return measured.share >= CUT && !isJudged ? inform(measured) : pass(measured);
      },
      ranges: () => [{ metric: 'completions/clipped_ratio', high: CUT }],
      says: (m) =>
        `${percent(m.share)} of the completions are truncated at the length limit${m.share >= ALL_CUT ? ': they do not end by themselves, so the reward grades unfinished answers' : ''}.`,
    }),
  ],
};

/** Returns what ids spell, by the bytes of their pieces. */
function spelling({ ids, bytes, lengths }: Inputs['pieces']): (row: Int32Array) => string {
  const pieces = new Map<number, Uint8Array>();
  let start = 0;
  for (const [i, id] of ids.entries()) {
    pieces.set(id, bytes.subarray(start, start + lengths[i]!));
    start += lengths[i]!;
  }
  return (row) => Buffer.concat(Array.from(row, (id) => pieces.get(id) ?? new Uint8Array())).toString();
}

const without = (parts: readonly string[], text: string): string =>
  parts.filter(Boolean).reduce((rest, part) => rest.replaceAll(part, ''), text);

const WHITE = /\s+/g;

/** What a prompt's ids lack of its text. */
function compareTexts(
  text: string,
  spelt: string,
): { lacks?: 'the beginning' | 'the end' | 'white space'; missing: string } {
  const [asked, found] = [text, spelt].map((one) => one.normalize('NFKC').toLowerCase().replace(WHITE, ''));
  const white = (one: string) => one.match(/\s/g)?.length ?? 0;
  if (found!.includes(asked!))
    return found === asked && 2 * white(spelt.trim()) < white(text.trim())
      ? { lacks: 'white space', missing: spelt }
      : { missing: '' };
  if (found === '') return { missing: '' };
  if (asked!.startsWith(found!)) return { lacks: 'the end', missing: spelt };
  return asked!.endsWith(found!) ? { lacks: 'the beginning', missing: spelt } : { missing: '' };
}
