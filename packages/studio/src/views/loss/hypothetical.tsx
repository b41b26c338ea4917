/** The loss that another ε or β would have given on the recorded step. */
import type { LossAnswer, LossSettings } from 'grpo/studio';
import type { Answer } from '../../client.js';
import { shortNumber, signedNumber } from '../../parts/numbers.js';
import { Answered } from '../../parts/status.js';
import { setQuery } from '../../route.js';
import { isRounding } from './loss-rows.js';

export const SETTINGS = [
  { key: 'epsilonLow', name: 'ε low', most: 1, lack: 'the loss has no lower bound of the ratio' },
  { key: 'epsilonHigh', name: 'ε high', most: 1, lack: 'the loss has no upper bound of the ratio' },
  { key: 'beta', name: 'β', most: 0.2, lack: 'the loss has no KL' },
] as const;

interface HypotheticalProps {
  loss: LossAnswer;
  changed: LossSettings | undefined;
  tried: Answer<LossAnswer>;
}

export function Hypothetical({ loss, changed, tried }: HypotheticalProps) {
  return (
    <section class={changed ? 'loss-hypothetical changed' : 'loss-hypothetical'} aria-label="other settings">
      <div class="loss-settings">
        <span>what if</span>
        {SETTINGS.map((setting) => (
          <Setting
            key={setting.key}
            setting={setting}
            recorded={loss.settings[setting.key]}
            value={changed?.[setting.key]}
          />
        ))}
        {changed && (
          <button
            type="button"
            onClick={() => setQuery(Object.fromEntries(SETTINGS.map(({ key }) => [key, undefined])))}
          >
            back to what was recorded
          </button>
        )}
      </div>
      {changed && (
        <Answered answer={tried}>
          {({ hypothetical }) => (hypothetical ? <Outcome loss={loss} hypothetical={hypothetical} /> : null)}
        </Answered>
      )}
    </section>
  );
}

interface SettingProps {
  setting: (typeof SETTINGS)[number];
  recorded: number | undefined;
  value: number | undefined;
}

function Setting({ setting: { key, name, most, lack }, recorded, value }: SettingProps) {
  return (
    <label title={recorded === undefined ? lack : `recorded: ${recorded}`}>
      {name}
      <input
        type="range"
        aria-label={`${name}, slider`}
        min={0}
        max={most}
        step={most / 200}
        value={value ?? recorded ?? 0}
        disabled={recorded === undefined}
        onChange={({ currentTarget }) => setQuery({ [key]: settingOf(currentTarget.value, recorded) })}
      />
      <input
        type="number"
        aria-label={name}
        min={0}
        step="any"
        value={value ?? recorded ?? ''}
        disabled={recorded === undefined}
        onChange={({ currentTarget }) => setQuery({ [key]: settingOf(currentTarget.value, recorded) })}
      />
    </label>
  );
}

/** The recorded value is no change: the address leaves it out. */
const settingOf = (text: string, recorded: number | undefined): string | undefined =>
  text === '' || Number(text) === recorded ? undefined : text;

function Outcome({
  loss: { total, settings, groups, update },
  hypothetical,
}: {
  loss: LossAnswer;
  hypothetical: NonNullable<LossAnswer['hypothetical']>;
}) {
  const changes = SETTINGS.flatMap(({ key, name }) =>
    hypothetical.changed[key] === undefined
      ? []
      : [`${name} ${shortNumber(hypothetical.changed[key])} instead of ${shortNumber(settings[key])}`],
  );
  const isSame = isRounding(hypothetical.total - total, groups);
  const isFirst = update === 0 && hypothetical.changed.beta === undefined;
  return (
    <p aria-live="polite">
      <strong>Hypothetical, not trained:</strong> with {changes.join(', ')} the loss of the same tokens would
      be <strong class="mono">{signedNumber(hypothetical.total, 8)}</strong> instead of{' '}
      <span class="mono">{signedNumber(total, 8)}</span> (difference{' '}
      <span class="mono">{signedNumber(isSame ? 0 : hypothetical.total - total, 4)}</span>).
      {isSame && ' Nothing changes but rounding.'}
      {isSame && isFirst && ' In a first update all ratios are 1: no clip range cuts them.'}
    </p>
  );
}
