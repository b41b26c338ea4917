import type { StepRecord, TextChange } from '../../trace/index.js';
import { inputs } from '../inputs.js';
import { once } from '../once.js';

/** How one text that rewards got differs from the sampled one. */
export interface ChangedText {
  completion: number;
  change: TextChange;
  /** What was added, or is gone; the graded text where neither can be told. */
  text: string;
}

/**
 * Texts that rewards got and that are not the sampled ones, beyond special tokens and white space at their ends; undefined
 * where the record lacks one of the two.
 */
export const changedTexts = once((record: StepRecord): ChangedText[] | undefined => {
  const [graded, sampled] = [inputs.texts.from(record), inputs.sampledTexts.from(record)];
  const [prompts, promptOf] = [inputs.promptTexts.from(record), inputs.promptOf.from(record)];
  if (!graded || !sampled) return undefined;
  const special = Object.values(record.tokenizer?.specialTokens ?? {}).filter((text) => text !== '');
  const plain = (text: string) => special.reduce((left, token) => left.replaceAll(token, ''), text).trim();
  return graded.flatMap((text, completion): ChangedText[] => {
    if (text === sampled[completion]) return [];
    const [own, drawn] = [plain(text), plain(sampled[completion]!)];
    if (own === drawn) return [];
    const prompt = plain(prompts?.[promptOf?.[completion] ?? -1] ?? '');
    const added = own.endsWith(drawn) ? own.slice(0, own.length - drawn.length).trimEnd() : '';
    const gone = drawn.startsWith(own) ? drawn.slice(own.length) : '';
    if (added !== '' && prompt.endsWith(added)) return [{ completion, change: 'prompt', text: added }];
    if (gone === '') return [{ completion, change: 'rewritten', text }];
    const isStop = record.declared?.stop?.some((stop) => gone.trim() === stop.trim());
    return [{ completion, change: isStop ? 'stop' : 'cut', text: gone }];
  });
});
