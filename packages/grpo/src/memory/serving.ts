/** Bytes of completions that are decoded together while others come and go. */
import type { DecoderConfig } from '../models/config.js';
import { cacheBytes, type Engine, JOINING, type LotSize, logitsBytes, passTokenBytes } from './decoding.js';

/** Completions of one prompt that share it. */
export interface ServedPrompt {
  /** In tokens. */
  length: number;
  /** Completions. */
  count: number;
  /** Longest of them, in tokens. */
  newTokens: number;
  /** Penalties or truncation apply. */
  adjusted: boolean;
}

/** Keys, values and logits of completions that are decoded together; spare places are for those that come. */
export function servingBytes(
  config: DecoderConfig,
  engine: Engine,
  prompts: readonly ServedPrompt[],
): number {
  if (prompts.length === 0) return 0;
  const most = (of: (prompt: ServedPrompt) => number) => Math.max(...prompts.map(of));
  const rows = prompts.reduce((sum, { count }) => sum + count, 0);
  const size: LotSize = {
    prompts: prompts.length,
    longest: most(({ length }) => length),
    rows,
    mostPerPrompt: most(({ count }) => count),
    newTokens: most(({ newTokens }) => newTokens),
  };
  const adjusted = prompts.some((prompt) => prompt.adjusted);
  const spare = prompts.length > 1 ? JOINING : 1;
  return spare * cacheBytes(config, engine, size) + rows * logitsBytes(config, engine, adjusted);
}

/** The room that one completion of a prompt needs at least: for the prompt's pass, then for keys, values and logits. */
export const leastServingBytes = (config: DecoderConfig, engine: Engine, prompt: ServedPrompt): number =>
  Math.max(
    prompt.length * passTokenBytes(config, engine),
    servingBytes(config, engine, [{ ...prompt, count: 1 }]),
  );
