/** The parts of a completion in think/answer format, or why it is not in that format. */
export type ThinkAnswer =
  | { format: true; think: string; answer: string; problem: null }
  | { format: false; think: null; answer: null; problem: string };

const TAGS = ['<think>', '</think>', '<answer>', '</answer>'] as const;

/**
 * Takes `<think>…</think> <answer>…</answer>` apart. The format holds when
 * - each of the four tags occurs exactly once, in this order and spelling;
 * - before, between and after the two parts there is white space or nothing.
 *
 * Any text may stand inside the tags; it is returned without white space around it.
 *
 * @param thinkOpened - the prompt ends in `<think>`: the completion begins inside it and must not repeat it
 */
export function parseThinkAnswer(completion: string, { thinkOpened }: { thinkOpened: boolean }): ThinkAnswer {
  if (thinkOpened && completion.includes('<think>'))
    return malformed('<think> again, though the prompt opened it');
  const text = thinkOpened ? `<think>${completion}` : completion;
  for (const tag of TAGS) {
    const count = text.split(tag).length - 1;
    if (count !== 1) return malformed(count === 0 ? `no ${tag}` : `${count} times ${tag}`);
  }
  const [thinkStart, thinkEnd, answerStart, answerEnd] = TAGS.map((tag) => text.indexOf(tag)) as Positions;
  if (!(thinkStart < thinkEnd && thinkEnd < answerStart && answerStart < answerEnd)) {
    return malformed('tags out of order');
  }
  const part = (from: number, tag: string, to?: number) => text.slice(from + tag.length, to).trim();
  if (text.slice(0, thinkStart).trim() !== '') return malformed('text before <think>');
  if (part(thinkEnd, '</think>', answerStart) !== '') return malformed('text between </think> and <answer>');
  if (part(answerEnd, '</answer>') !== '') return malformed('text after </answer>');
  return {
    format: true,
    think: part(thinkStart, '<think>', thinkEnd),
    answer: part(answerStart, '<answer>', answerEnd),
    problem: null,
  };
}

type Positions = [number, number, number, number];

function malformed(problem: string): ThinkAnswer {
  return { format: false, think: null, answer: null, problem };
}
