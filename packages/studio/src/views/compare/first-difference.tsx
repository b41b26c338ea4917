/** The first number or text in which two records differ, in the order in which a step makes them, and all others. */
import type { CompareAnswer } from 'grpo/studio';
import { shortNumber } from '../../parts/numbers.js';
import { SafeText } from '../../parts/safe-text.js';

type Comparison = CompareAnswer['comparison'];
type Compared = Comparison['compared'][number];

export function FirstDifference({
  comparison,
  isOpen,
  onOpen,
}: {
  comparison: Comparison;
  isOpen: boolean;
  onOpen(): void;
}) {
  const { compared, missing, difference } = comparison;
  return (
    <section class="compare-difference" aria-label="first difference">
      {difference ? (
        <p>
          <strong class="warn">≠ first difference</strong>: <SafeText text={difference.quantity} most={120} />
          , in the phase {difference.phase}. <Where {...difference} />
        </p>
      ) : compared.length > 0 ? (
        <p class="good">= all {compared.length} quantities that both records have agree within rounding</p>
      ) : (
        <p class="soft">The two records have no quantity in common.</p>
      )}
      <p>
        <button type="button" class="link" aria-expanded={isOpen} onClick={onOpen}>
          {isOpen ? '▾' : '▸'} {compared.length} quantities in the order of the step
        </button>
        {missing.length > 0 && (
          <span class="soft">
            {' '}
            · not in both: <SafeText text={missing.slice(0, 6).join(', ')} most={300} />
            {missing.length > 6 && ` and ${missing.length - 6} more`}
          </span>
        )}
      </p>
      {isOpen && (
        <table>
          <thead>
            <tr>
              <th scope="col">phase</th>
              <th scope="col">quantity</th>
              <th scope="col">differ</th>
              <th scope="col">first</th>
            </tr>
          </thead>
          <tbody>
            {compared.map((one) => (
              <tr key={one.quantity}>
                <td class="soft">{one.phase}</td>
                <td>
                  <SafeText text={one.quantity} most={120} />
                </td>
                <td class="number">
                  {one.differing === 0 && !one.first ? (
                    <span class="good">= none</span>
                  ) : (
                    <span class="warn">
                      ≠ {shortNumber(one.differing)} of {shortNumber(one.values)}
                    </span>
                  )}
                </td>
                <td>
                  <Where {...one} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Where({ first }: Compared) {
  if (!first) return null;
  return (
    <>
      <SafeText text={first.where} most={120} />: <Value value={first.here} /> here,{' '}
      <Value value={first.there} /> there
    </>
  );
}

const Value = ({ value }: { value: number | string }) => (
  <code>
    <SafeText text={typeof value === 'number' ? shortNumber(value, 6) : value} most={120} />
  </code>
);
