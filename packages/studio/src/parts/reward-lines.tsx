/** The rewards of a completion, each with its parts, the rule that decided it, and why it failed. */
import { shortNumber } from './numbers.js';
import type { RewardLine } from './rewards-of.js';
import './reward-lines.css';
import { SafeText } from './safe-text.js';

export function RewardLines({ lines }: { lines: readonly RewardLine[] }) {
  return (
    <dl class="reward-lines">
      {lines.map(({ name, value, rule, parts, failure }) => (
        <div key={name}>
          <dt>
            <SafeText text={name} most={60} />
          </dt>
          <dd>
            {Number.isNaN(value) || failure !== undefined ? (
              <strong class="fail">✕ {shortNumber(value)}</strong>
            ) : (
              <strong>{shortNumber(value)}</strong>
            )}
            {failure !== undefined && (
              <>
                {' '}
                failed: <SafeText text={failure} most={200} />
              </>
            )}
            {rule !== undefined && (
              <span class="soft">
                {' '}
                <SafeText text={rule} most={200} />
              </span>
            )}
            {parts.length > 0 && (
              <span class="reward-lines-parts">
                {parts.map(({ part, value }) => (
                  <span key={part}>
                    <SafeText text={part} most={40} /> {shortNumber(value)}
                  </span>
                ))}
              </span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
