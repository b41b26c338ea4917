import type { Tokenizer } from '../text/tokenizer.js';

/** What a batch of these prompts would take of padding on the left, and what usual mistakes with it would do. */
export interface Padding {
  prompts: number;
  /** Ids of the longest prompt, and of the shortest. */
  width: number;
  shortest: number;
  /** Text cut behind as many places as the prompt has ids, not behind the batch's width: the worst row's prompt in it. */
  cut: { prompts: number; tokens: number; characters: number };
}

/** How many places of padding each prompt gets. */
export const padsOf = (prompts: readonly (readonly number[])[]): number[] => {
  const width = Math.max(...prompts.map(({ length }) => length));
  return prompts.map(({ length }) => width - length);
};

/** @returns undefined where no prompt would be padded, so that nothing could go wrong */
export function paddingOf(
  tokenizer: Tokenizer,
  prompts: readonly (readonly number[])[],
): Padding | undefined {
  const lengths = prompts.map(({ length }) => length);
  const [width, shortest] = [Math.max(...lengths), Math.min(...lengths)];
  if (prompts.length === 0 || width === shortest) return undefined;
  const pads = padsOf(prompts);
  // A row of pads and prompt, cut behind `ids.length` places: the prompt's last ids are left.
  const left = prompts.map((ids, p) =>
    ids.slice(-Math.min(ids.length, pads[p]!), pads[p] === 0 ? 0 : undefined),
  );
  const characters = left.map((ids) => tokenizer.decode(ids, { skipSpecial: true }).length);
  return {
    prompts: prompts.length,
    width,
    shortest,
    cut: {
      prompts: left.filter((ids) => ids.length > 0).length,
      tokens: Math.max(...left.map((ids) => ids.length)),
      characters: Math.max(...characters),
    },
  };
}
