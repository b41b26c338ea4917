/** How many places of prompts and regions a mask plan hides, and how many it should. */
import { nonzero } from '../../maths/moments.js';
import type { Declared, RecordedView } from '../../trace/index.js';

/** Places that are hidden at random: how many there are, are hidden, and are to be on average. */
interface HiddenShare {
  places: number;
  hidden: number;
  share: number;
  variance: number;
}

/** By prompt or completion; undefined where the settings do not tell the shares. */
export function hiddenShares(
  { estimator, promptMaskRate, maskRates }: NonNullable<Declared['diffusion']>,
  views_B: readonly (readonly RecordedView[])[],
  groups: readonly (readonly number[])[],
): HiddenShare[] | undefined {
  const shareOf = (flags: Uint8Array, share: number, spread = 0): HiddenShare => ({
    places: flags.length,
    hidden: nonzero(flags),
    share,
    variance: flags.length * share * (1 - share) + (flags.length * spread) ** 2,
  });
  const scored = views_B.filter((views) => views.length > 0);
  switch (estimator) {
    case 'd1':
      if (promptMaskRate === undefined) return undefined;
      // Completions of a prompt may share its mask, or have one each.
      return groups.flatMap((group) => {
        const masks = group.flatMap((b) => views_B[b]![0]?.prompt ?? []);
        const distinct = new Map(masks.map((mask) => [mask.join(''), mask]));
        return [...distinct.values()].map((mask) => shareOf(mask, promptMaskRate));
      });
    case 'coupled':
      return scored.flatMap(([, one]) => (one ? [shareOf(one.region, 0.5 / one.weight)] : []));
    case 'sum_masked': {
      if (!maskRates) return undefined;
      const [least, most] = maskRates;
      // A uniform share has this deviation; one place may be hidden in any case.
      const spread = (most - least) / Math.sqrt(12);
      return scored.map(([view]) => {
        const own = shareOf(view!.region, (least + most) / 2, spread);
        return { ...own, variance: own.variance + (most < 1 ? 1 : 0) };
      });
    }
    case undefined:
      return undefined;
  }
}
