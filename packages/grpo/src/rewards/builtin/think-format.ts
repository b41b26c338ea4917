import type { RewardFunction, Verdict } from '../reward.js';

const OPEN = '<think>';
const CLOSE = '</think>';

/**
 * 1 for a completion that is `<think>…</think>` and anything after it, with no second `<think>`; else 0. The thinking
 * may be empty, and the text behind it too. Where a plain-text prompt ends in `<think>`, the completion begins inside.
 */
export function thinkFormat(): RewardFunction<unknown> {
  return ({ completions, prompts }) =>
    completions.map((completion, i) => {
      const prompt = prompts[i]!;
      const isOpen = typeof prompt === 'string' && prompt.trimEnd().endsWith(OPEN);
      return judge(isOpen ? OPEN + completion : completion);
    });
}

function judge(text: string): Verdict {
  if (!text.startsWith(OPEN)) return { value: 0, rule: `does not begin with ${OPEN}` };
  if (text.includes(OPEN, OPEN.length)) return { value: 0, rule: `${OPEN} again` };
  if (!text.includes(CLOSE)) return { value: 0, rule: `no ${CLOSE}` };
  return { value: 1, rule: 'in think format' };
}
