import { lastBoxed } from '../../rewards/math/boxed.js';

/** An answer where graders look for it, and the same completion with other text in its place. */
export interface FramedAnswer {
  answer: string;
  replaced(text: string): string;
}

/** `<answer>…</answer>`, or a line `Answer: …`. */
const FRAMES = [/(?<=<answer>)[\s\S]*?(?=<\/answer>)/, /(?<=^Answer:[ \t]*)\S.*$/m];

/** Finds the answer in a completion; undefined where it stands in no frame. */
export function findAnswer(completion: string): FramedAnswer | undefined {
  for (const frame of FRAMES) {
    const found = frame.exec(completion);
    if (found) return framedAt(completion, found[0], found.index);
  }
  const boxed = lastBoxed(completion);
  return boxed ? framedAt(completion, boxed, completion.lastIndexOf(boxed)) : undefined;
}

const framedAt = (completion: string, answer: string, start: number): FramedAnswer => ({
  answer: answer.trim(),
  replaced: (text) => completion.slice(0, start) + text + completion.slice(start + answer.length),
});
