/** Replays how a masked-diffusion model filled the places of a completion. */
import { useEffect, useState } from 'preact/hooks';

interface FillingProps {
  /** The denoising step that filled each place. */
  order: Int32Array;
  /** Steps that are shown as done; all when missing. */
  filled: number | undefined;
  onFilled(steps: number | undefined): void;
}

/** A replay takes about this long. */
const REPLAY_MS = 6000;

export function Filling({ order, filled, onFilled }: FillingProps) {
  const steps = order.reduce((most, step) => Math.max(most, step), 0) + 1;
  const shown = Math.min(filled ?? steps, steps);
  const [isPlaying, setPlaying] = useState(false);
  const show = (step: number) => onFilled(step >= steps ? undefined : step);
  useEffect(() => {
    if (!isPlaying) return;
    if (shown >= steps) {
      setPlaying(false);
      return;
    }
    const stride = Math.max(1, Math.round((steps * 50) / REPLAY_MS));
    const timer = setTimeout(() => show(shown + stride), Math.max(50, REPLAY_MS / steps));
    return () => clearTimeout(timer);
  }, [isPlaying, shown, steps, onFilled]);
  const start = () => {
    if (shown >= steps) show(0);
    setPlaying(true);
  };
  return (
    <div class="completion-filling">
      <button type="button" onClick={isPlaying ? () => setPlaying(false) : start}>
        {isPlaying ? 'stop' : 'replay the filling'}
      </button>
      <label>
        filled after step{' '}
        <input
          type="range"
          min={0}
          max={steps}
          value={shown}
          onInput={({ currentTarget }) => show(Number(currentTarget.value))}
        />{' '}
        {shown} of {steps}
      </label>
    </div>
  );
}
