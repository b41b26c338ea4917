import type { Model } from '../../models/index.js';
import type { FinishReason } from '../../rollout/index.js';
import { StopStrings } from '../../rollout/stop.js';
import { TextStream } from '../../text/text-stream.js';

export interface TextOptions {
  /** Strings that end the completion. */
  stop: readonly string[];
  /** Whether the text keeps the string or the token that ended it. */
  includesStop: boolean;
  skipsSpecial: boolean;
}

/** The end of a text, and what ended it: the end token as vLLM names it, a stop string, or nothing of the two. */
export interface TextEnd {
  text: string;
  stopReason: string | number | null;
}

/** The text of a growing completion: whole characters only, and nothing that may be the beginning of a stop string. */
export class ChoiceText {
  readonly #stream: TextStream;
  /** Text that is not told yet. */
  #pending = '';
  /** So many characters may be the beginning of a stop string. */
  readonly #held: number;

  constructor(
    private readonly model: Pick<Model, 'tokenizer' | 'endIds'>,
    private readonly options: TextOptions,
  ) {
    this.#stream = new TextStream(model.tokenizer, options.skipsSpecial);
    this.#held = Math.max(0, ...options.stop.map(({ length }) => length - 1));
  }

  /** Takes a token that is not the last. @returns text that can be told */
  add(id: number): string {
    this.#take(id);
    let end = Math.max(0, this.#pending.length - this.#held);
    // No half of a surrogate pair.
    if (/[\uDC00-\uDFFF]/.test(this.#pending[end] ?? '')) end--;
    const text = this.#pending.slice(0, Math.max(0, end));
    this.#pending = this.#pending.slice(text.length);
    return text;
  }

  /** @param ids - the whole completion, of which the last token has not been taken */
  end(ids: readonly number[], finishReason: FinishReason): TextEnd {
    const { model, options } = this;
    const last = ids.at(-1);
    if (last === undefined) return { text: '', stopReason: null };
    const isEnd = finishReason === 'stop' && model.endIds.has(last);
    const before = this.#pending.length;
    if (!isEnd || options.includesStop) this.#take(last);
    const all = this.#pending + this.#stream.end();
    if (isEnd) return { text: all, stopReason: last === model.tokenizer.eosId ? null : last };
    if (finishReason !== 'stop') return { text: all, stopReason: null };
    const stop = new StopStrings(options.stop, model.tokenizer).completedBy(ids)!;
    const at = all.indexOf(stop, Math.max(0, before - stop.length + 1));
    // In a special token that is not shown, nothing of it is there to be cut.
    if (at < 0) return { text: all, stopReason: stop };
    return { text: all.slice(0, options.includesStop ? at + stop.length : at), stopReason: stop };
  }

  #take(id: number): void {
    this.#pending += this.#stream.add(id);
  }
}
