import type { Measure } from './measures.js';
import type { Scale } from './scale.js';

/** What the levels of a measure mean, with their numbers. */
export function Legend({ measure, scale }: { measure: Measure; scale: Scale }) {
  return (
    <div class="completion-legend">
      <p class="soft">
        {measure.name}
        {measure.unit !== '' && `, ${measure.unit}`}: {measure.says}. A line below is plus, a line above is
        minus; the thicker, the more.
      </p>
      <ul>
        {scale.levels.map(({ name, says }) => (
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
