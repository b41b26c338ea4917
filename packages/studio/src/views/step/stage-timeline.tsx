/** The stages of a step, one after another, as bars of their seconds. */
import { percent, shortNumber } from '../../parts/numbers.js';
import { SafeText } from '../../parts/safe-text.js';

export interface Stage {
  name: string;
  seconds: number;
}

/** Each stage with its beginning and its share of all; NaN seconds take no room. */
export function timelineOf(stages: readonly Stage[]): {
  total: number;
  slowest: number;
  bars: { start: number; share: number }[];
} {
  const lengths = stages.map(({ seconds }) => (seconds > 0 ? seconds : 0));
  const total = lengths.reduce((sum, one) => sum + one, 0);
  let start = 0;
  const bars = lengths.map((length) => {
    const bar = { start: total > 0 ? start / total : 0, share: total > 0 ? length / total : 0 };
    start += length;
    return bar;
  });
  return { total, slowest: lengths.indexOf(Math.max(...lengths)), bars };
}

export function StageTimeline({
  stages,
  isOpen,
  onOpen,
}: {
  stages: readonly Stage[];
  isOpen: boolean;
  onOpen(): void;
}) {
  if (stages.length === 0) return null;
  const { total, slowest, bars } = timelineOf(stages);
  const longest = stages[slowest]!;
  return (
    <section class="step-stages">
      <button type="button" class="link" aria-expanded={isOpen} onClick={onOpen}>
        {isOpen ? '▾' : '▸'} stages: {shortNumber(total, 3)} s
      </button>
      , the slowest is <SafeText text={longest.name} most={60} /> with {shortNumber(longest.seconds, 3)} s (
      {percent(bars[slowest]!.share)})
      {isOpen && (
        <table class="step-stages-bars">
          <tbody>
            {stages.map(({ name, seconds }, i) => (
              <tr key={name}>
                <th scope="row">
                  <SafeText text={name} most={60} />
                </th>
                <td class="number">{shortNumber(seconds, 3)} s</td>
                <td class="number">{percent(bars[i]!.share)}</td>
                <td class="step-stages-bar">
                  <span
                    class={i === slowest ? 'step-stages-slowest' : ''}
                    style={{ left: `${100 * bars[i]!.start}%`, width: `${100 * bars[i]!.share}%` }}
                  />
                </td>
                <td>{i === slowest && 'slowest'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
