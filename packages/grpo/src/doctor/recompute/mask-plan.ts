/** The passes over a completion of a masked-diffusion model, drawn again as `objective/masked/estimators.ts` draws them. */
import type { Declared, RecordedView } from '../../trace/index.js';

type Settings = NonNullable<Declared['diffusion']>;

/** A completion, in numbers of tokens and places. */
export interface Sizes {
  prompt: number;
  width: number;
  /** Of the completion, which begins the region. */
  tokens: number;
}

/**
 * Draws the passes; undefined where the settings do not tell them.
 *
 * @param drawPrompt - the random number of a token of the prompt, one for all completions of it
 * @param drawPlace - that of a place of the region
 * @param drawRate - that of the share which is hidden
 */
export function drawnViews(
  { estimator, promptMaskRate, maskRates }: Settings,
  { prompt, width, tokens }: Sizes,
  drawPrompt: (token: number) => number,
  drawPlace: (place: number) => number,
  drawRate: () => number,
): RecordedView[] | undefined {
  const flags = (length: number, isHidden: (i: number) => boolean) =>
    Uint8Array.from({ length }, (_, i) => Number(isHidden(i)));
  const all = flags(width, () => true);
  const open = new Uint8Array(prompt);
  if (estimator === 'd1') {
    if (promptMaskRate === undefined) return undefined;
    return [{ prompt: flags(prompt, (i) => drawPrompt(i) < promptMaskRate), region: all, weight: 1 }];
  }
  if (estimator === undefined || !maskRates) return undefined;
  const rate = maskRates[0] + (maskRates[1] - maskRates[0]) * drawRate();
  const isBelow = (place: number) => drawPlace(place) < rate;
  if (estimator === 'coupled')
    return [
      { prompt: open, region: all, weight: 0.5 },
      { prompt: open, region: flags(width, isBelow), weight: 0.5 / rate },
      { prompt: open, region: flags(width, (place) => !isBelow(place)), weight: 0.5 / (1 - rate) },
    ];
  // One token is hidden whatever the draws are.
  let least = 0;
  for (let token = 1; token < tokens; token++) if (drawPlace(token) < drawPlace(least)) least = token;
  const hidden = flags(width, (place) => isBelow(place) || (tokens > 0 && place === least));
  return [{ prompt: open, region: hidden, weight: 1 }];
}
