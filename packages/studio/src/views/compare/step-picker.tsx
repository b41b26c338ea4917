/** Chooses a run and one of its recorded steps. */
import type { RunEntry } from 'grpo/studio';
import { useAnswer } from '../../client.js';
import { visible } from '../../parts/safe-text.js';
import { setQuery } from '../../route.js';

interface StepPickerProps {
  label: string;
  runs: readonly RunEntry[];
  run: string | undefined;
  step: number | undefined;
  /** Names of the two in the page's address. */
  keys: { run: string; step: string };
}

export function StepPicker({ label, runs, run, step, keys }: StepPickerProps) {
  const curves = useAnswer('curves', run === undefined ? undefined : { run });
  const recorded = curves.value?.records.map((one) => one.step) ?? [];
  const steps = step === undefined || recorded.includes(step) ? recorded : [step, ...recorded];
  const ids = runs.map(({ id }) => id);
  return (
    <fieldset class="compare-picker">
      <legend>{label}</legend>
      <label>
        run{' '}
        <select
          value={run ?? ''}
          onChange={(event) => setQuery({ [keys.run]: event.currentTarget.value, [keys.step]: undefined })}
        >
          {run === undefined && <option value="">choose one</option>}
          {run !== undefined && !ids.includes(run) && <option value={run}>{visible(run)}</option>}
          {runs.map(({ id, name }) => (
            <option key={id} value={id}>
              {visible(name)}
            </option>
          ))}
        </select>
      </label>
      <label>
        step{' '}
        <select
          value={step ?? ''}
          disabled={run === undefined}
          onChange={(event) => setQuery({ [keys.step]: event.currentTarget.value })}
        >
          {step === undefined && <option value="">choose one</option>}
          {steps.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  );
}
