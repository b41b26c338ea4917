import { formatValue } from '../../doctor/sentence.js';
import { excerpt } from '../../errors/printable.js';
import type { Compared, StepComparison } from '../../view/compare-steps.js';
import { PHASES } from '../../view/phases.js';
import { wrap } from '../text-layout.js';

/** The first difference of two steps, and what agrees and differs after it. */
export function comparisonText({ compared, missing, difference }: StepComparison, width: number): string {
  const lines = difference
    ? [differenceText(difference), ...after(compared, difference)]
    : [`Equal in all that both have: ${listed(compared)}.`];
  if (missing.length > 0) lines.push(`Not in both records: ${missing.join(', ')}.`);
  return `${lines.flatMap((line) => wrap(line, width)).join('\n')}\n`;
}

function differenceText({ phase, quantity, values, differing, first }: Compared): string {
  const { where, here, there } = first!;
  const place = where ? `${where}: ` : '';
  const [one, other] = [shown(here, there), shown(there, here)];
  return `First difference: phase ${PHASES.indexOf(phase) + 1}, ${phase}, ${quantity}: ${differing} of ${values} differ. ${place}${one} here, ${other} there.`;
}

/** A text from shortly before it differs from the other. */
function shown(value: number | string, other: number | string): string {
  if (typeof value !== 'string' || typeof other !== 'string') return formatValue(value);
  let same = 0;
  while (same < value.length && value[same] === other[same]) same++;
  const from = Math.max(0, same - 20);
  return `${from > 0 ? '…' : ''}${excerpt(value.slice(from))}`;
}

function after(compared: readonly Compared[], difference: Compared): string[] {
  const place = compared.indexOf(difference);
  const later = compared.slice(place + 1);
  const [differ, agree] = [true, false].map((does) =>
    later.filter(({ differing }) => differing > 0 === does),
  );
  return [
    ...(place > 0 ? [`Equal before it: ${listed(compared.slice(0, place))}.`] : []),
    ...(differ!.length > 0 ? [`Different after it: ${listed(differ!)}.`] : []),
    ...(agree!.length > 0 ? [`Equal after it: ${listed(agree!)}.`] : []),
  ];
}

const listed = (compared: readonly Compared[]) => compared.map(({ quantity }) => quantity).join(', ');
