import type { Measure } from './measures.js';
import { NOT_FINITE, type Scale } from './scale.js';

interface LegendProps {
  measure: Measure;
  scale: Scale;
  values: ArrayLike<number>;
}

/** Explains the levels of a measure with their numbers. */
export function Legend({ measure, scale, values }: LegendProps) {
  const isWhole = Array.prototype.every.call(values, Number.isFinite);
  return (
    <div class="completion-legend">
      <p class="soft">
        {measure.name}
        {measure.unit !== '' && `, ${measure.unit}`}: {measure.says}.{' '}
        <span class="completion-legend-lines">{scale.lines}</span>
      </p>
      <ul>
        {scale.levels
          .filter((level) => level !== NOT_FINITE || !isWhole)
          .map(({ name, says }) => (
            <li key={name}>
              <span class={`token ${name}`} aria-hidden="true">
                abc
              </span>
              {says}
            </li>
          ))}
        <li>
          <span class="token masked" aria-hidden="true">
            abc
          </span>
          not in the loss
        </li>
      </ul>
    </div>
  );
}
