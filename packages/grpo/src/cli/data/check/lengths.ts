import { UserError } from '../../../config/index.js';
import { modelFolder } from '../../../hub/model-folder.js';
import { median } from '../../../maths/quantile.js';
import { readModelFolder } from '../../../models/folder/folder.js';
import type { Prompt } from '../../../text/message.js';
import { renderPrompt } from '../../../text/render.js';

/** How long prompts are, and how long they may be. */
export interface Ruler {
  unit: 'characters' | 'tokens';
  /** The length of a prompt; or why it has none, in words. */
  measure(prompt: Prompt): number | { problem: string };
  /** The model's positions, of which a completion takes `completion`. */
  window?: { positions: number; completion: number };
}

/** Measures in the tokens of a model as training renders prompts, or without one in characters. */
export function rulerOf(model: string | undefined, maxNewTokens: number): Ruler {
  if (model === undefined) return { unit: 'characters', measure: characters };
  const { config, tokenizer, template } = readModelFolder(modelFolder(model));
  return {
    unit: 'tokens',
    measure(prompt) {
      try {
        return renderPrompt(tokenizer, template, prompt).ids.length;
      } catch (error) {
        if (error instanceof UserError) return { problem: error.message };
        throw error;
      }
    },
    window: { positions: config.maxPositions, completion: maxNewTokens },
  };
}

const characters = (prompt: Prompt) =>
  typeof prompt === 'string' ? prompt.length : prompt.reduce((sum, { content }) => sum + content.length, 0);

/** The middle of the lengths, and the greatest with its line. */
export interface LengthSummary {
  median: number;
  longest: number;
  line: number;
}

/** Lengths as they come, one per row. */
export class Lengths {
  readonly #all: number[] = [];
  #longest = { length: -1, line: 0 };

  add(line: number, length: number): void {
    this.#all.push(length);
    if (length > this.#longest.length) this.#longest = { length, line };
  }

  summary(): LengthSummary | null {
    if (this.#all.length === 0) return null;
    const { length: longest, line } = this.#longest;
    return { median: median(this.#all), longest, line };
  }
}
