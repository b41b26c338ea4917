/** The head of a group: its prompt, its rewards, and warnings about it. */
import { shortNumber, wholeNumber } from '../../parts/numbers.js';
import { SafeText } from '../../parts/safe-text.js';
import { type Group, hasSignal } from './selection.js';

interface GroupHeadProps {
  group: Group;
  /** Completions that a whole group has. */
  size: number;
  /** The step that sampled it, where that is an earlier one. */
  replayed: number;
  /** Characters that all of its completions begin with. */
  shared: number;
  isShared: boolean;
  onShared(): void;
}

export function GroupHead({ group, size, replayed, shared, isShared, onShared }: GroupHeadProps) {
  const { prompt, completions, shown } = group;
  const { index, text, answer, mean, deviation, distinct } = prompt;
  const count = completions.length;
  const isShort = count < size;
  const signal = hasSignal(completions);
  const isUnscored = completions.length > 0 && completions.every(({ total }) => Number.isNaN(total));
  return (
    <header class="step-group-head">
      <h3>
        prompt {index}{' '}
        {text !== undefined && (
          <span class="mono step-group-prompt">
            <SafeText text={text} most={300} />
          </span>
        )}
      </h3>
      <p>
        <span class={isShort ? 'warn' : ''}>
          {isShort ? `⚠ ${count} of ${size}` : count} completion{count === 1 && !isShort ? '' : 's'}
        </span>
        {shown.length < count && <span>{shown.length} shown</span>}
        {answer !== undefined && (
          <span>
            answer <SafeText text={answer} most={80} />
          </span>
        )}
        {mean !== undefined && (
          <span>
            mean reward {shortNumber(mean, 3)}
            {deviation !== undefined && ` ± ${shortNumber(deviation, 3)}`}
          </span>
        )}
        {distinct !== undefined && distinct < count && <span>{distinct} different</span>}
        {isUnscored && <span class="fail">✕ every reward is NaN</span>}
        {signal === false && <span class="warn">○ no signal: the group changes nothing</span>}
        {replayed > 0 && <span class="warn">↻ replayed from step {replayed}</span>}
        {shared > 0 && (
          <button type="button" class="link" aria-expanded={isShared} onClick={onShared}>
            {isShared ? 'hide' : 'show'} the {wholeNumber(shared)} characters that all begin with
          </button>
        )}
      </p>
    </header>
  );
}
