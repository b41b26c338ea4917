/** A number whose sign has a shape and a text besides its colour. */
import { signedNumber } from './numbers.js';

export function SignedMark({ value, digits = 3 }: { value: number | undefined; digits?: number }) {
  if (value === undefined) return <span class="soft">–</span>;
  const [shape, kind] = Number.isNaN(value)
    ? ['✕', 'fail']
    : value > 0
      ? ['▲', 'plus']
      : value < 0
        ? ['▼', 'minus']
        : ['●', 'soft'];
  return (
    <span class={`signed-mark ${kind}`}>
      <span aria-hidden="true">{shape}</span> {signedNumber(value, digits)}
    </span>
  );
}
