import type { RunEntry } from 'grpo/studio';
import { shortNumber, wholeNumber } from '../../parts/numbers.js';
import { SafeText, visible } from '../../parts/safe-text.js';
import { SEVERITIES } from '../../parts/severity.js';
import { Sparkline } from '../../parts/sparkline.js';
import { linkToPlace } from '../../route.js';

/** A sign beside each word, since colour alone says nothing. */
const SIGNS: Record<RunEntry['state'], string> = { running: '▶', finished: '✓', stopped: '■', unknown: '·' };
const WORDS: Record<RunEntry['state'], string> = {
  running: 'running',
  finished: 'finished',
  stopped: 'stopped',
  unknown: '–',
};

export function RunRow({
  run,
  isAt,
  isPicked,
  onPick,
}: {
  run: RunEntry;
  isAt: boolean;
  isPicked: boolean;
  onPick: () => void;
}) {
  const { id, name, kind, state, step, steps, reward, rewards, findings, modified, problem } = run;
  return (
    <div class={`run-list-row run-list-columns ${isAt ? 'run-list-at' : ''}`}>
      <input
        type="checkbox"
        checked={isPicked}
        onChange={onPick}
        aria-label={`pick ${visible(name)} to overlay`}
      />
      <span class="run-list-name">
        <a href={linkToPlace({ run: id })} aria-current={isAt ? 'true' : undefined}>
          <SafeText text={name} most={200} />
        </a>
        <span class="soft run-list-kind">
          <SafeText text={problem ?? kind} most={200} />
        </span>
      </span>
      <span class={`run-list-state ${problem === undefined ? `run-list-${state}` : 'fail'}`}>
        {problem === undefined ? `${SIGNS[state]} ${WORDS[state]}` : '✕ unreadable'}
      </span>
      <span class="run-list-step">
        {step === undefined ? '–' : wholeNumber(step)}
        {steps !== undefined && <span class="soft"> / {wholeNumber(steps)}</span>}
      </span>
      <span class="run-list-reward">
        <span>{shortNumber(reward)}</span>
        {rewards && rewards.length > 1 && (
          <Sparkline
            values={rewards}
            label={`reward from ${shortNumber(rewards[0])} to ${shortNumber(rewards.at(-1))}`}
          />
        )}
      </span>
      <span class="run-list-findings">
        {problem === undefined ? <Findings id={id} found={findings} /> : <span class="soft">–</span>}
      </span>
      <span class="run-list-modified soft">{modified === undefined ? '–' : timeText(modified)}</span>
    </div>
  );
}

/** Findings of the training itself; the report judges more, and runs that were not judged. */
function Findings({ id, found }: { id: string; found: RunEntry['findings'] }) {
  const { fail, warn } = found ?? { fail: 0, warn: 0 };
  return (
    <a href={linkToPlace({ run: id, view: 'findings' })}>
      {fail + warn === 0 && (found ? 'none in training' : 'judge')}
      {fail > 0 && (
        <span class="fail">
          {SEVERITIES.fail.sign} {fail} fail
        </span>
      )}
      {fail > 0 && warn > 0 && ' '}
      {warn > 0 && (
        <span class="warn">
          {SEVERITIES.warn.sign} {warn} warn
        </span>
      )}
    </a>
  );
}

/** In the reader's own time zone; the same in every language. */
function timeText(modified: number): string {
  const time = new Date(modified);
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
