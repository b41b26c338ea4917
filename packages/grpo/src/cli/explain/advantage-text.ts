import type { Config } from '../../config/schema.js';
import { decimal } from './number.js';

const baselines = {
  group: ' − mean R of its group',
  leave_one_out: ' − mean R of the others of its group',
  none: '',
};

/** How an advantage follows from rewards. */
export function advantageText({ advantage, objective }: Config): string {
  const { baseline, scale, combine, whiten, weight, clip } = advantage;
  const sums = combine === 'normalize_then_sum';
  const centred = `Rᵢ${baselines[baseline]}`;
  const divided = scale === 'none' && !sums ? centred : `(${centred}) / ${divisor(advantage)}`;
  const steps = [
    sums ? `Σₖ wₖ ${divided}, R of reward k alone; then standardized over the batch` : divided,
    ...(baseline === 'none' ? [] : [flatText(advantage)]),
    ...(whiten ? ['then standardized over the batch'] : []),
    ...(weight === 1 ? [] : [`then × ${decimal(weight)}`]),
    ...(clip === undefined ? [] : [`then bounded to ± ${decimal(clip)}`]),
    ...(objective.compat === undefined ? [] : [`by TRL’s float32 sums (compat=${objective.compat})`]),
  ];
  return steps.join('; ');
}

function divisor({ scale, combine, ddof, epsilon, floor }: Config['advantage']): string {
  if (scale === 'mean' && combine !== 'normalize_then_sum') return 'mean R of its group';
  const scope = scale === 'batch' && combine !== 'normalize_then_sum' ? 'of the batch' : 'of its group';
  const std = `std R ${scope}${ddof === 0 ? ' (by n)' : ''}`;
  const bounded = floor > 0 ? `max(${std}, ${decimal(floor)})` : std;
  return epsilon > 0 || floor === 0 ? `(${bounded}${epsilon > 0 ? ` + ${decimal(epsilon)}` : ''})` : bounded;
}

function flatText({ flat, flatBelow }: Config['advantage']): string {
  const which = flatBelow > 0 ? `a group with std R < ${decimal(flatBelow)}` : 'a group of equal rewards';
  return { zero: `0 for ${which}`, drop: `${which} is left out`, raw: `Rᵢ for ${which}` }[flat];
}

/** The reward that is compared. */
export function rewardText({ kl, groups }: Config): string {
  const penalty = kl.beta > 0 && kl.place === 'reward' ? ' − β Kᵢ' : '';
  const overlong = groups.overlongBuffer > 0 ? ', overlong among them' : '';
  return `weighted sum of the rewards of oᵢ${overlong}${penalty}`;
}
