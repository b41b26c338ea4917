import { useState } from 'preact/hooks';
import { SafeText } from '../../parts/safe-text.js';
import type { Aligned } from './align.js';
import type { ChartPlan } from './layout.js';
import type { Span } from './span.js';

const ROWS = 100;

/** The numbers of a chart, as many as are in sight, a page at a time. */
export function NumberTable({ chart, aligned, span }: { chart: ChartPlan; aligned: Aligned; span: Span }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="curves-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>numbers</summary>
      {isOpen && <Rows chart={chart} aligned={aligned} span={span} />}
    </details>
  );
}

function Rows({
  chart,
  aligned: { steps, values },
  span,
}: {
  chart: ChartPlan;
  aligned: Aligned;
  span: Span;
}) {
  const [page, setPage] = useState(0);
  const inSpan = Array.from(steps.keys()).filter((i) => steps[i]! >= span[0] && steps[i]! <= span[1]);
  const pages = Math.max(1, Math.ceil(inSpan.length / ROWS));
  const at = Math.min(page, pages - 1);
  return (
    <>
      {pages > 1 && (
        <p>
          <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>
            earlier
          </button>{' '}
          page {at + 1} of {pages}{' '}
          <button type="button" disabled={at === pages - 1} onClick={() => setPage(at + 1)}>
            later
          </button>
        </p>
      )}
      <div class="curves-rows">
        <table>
          <thead>
            <tr>
              <th class="number" scope="col">
                step
              </th>
              {chart.lines.map(({ label, style }) => (
                <th key={`${label} ${style}`} class="number" scope="col">
                  <SafeText text={label} most={40} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {inSpan.slice(at * ROWS, (at + 1) * ROWS).map((i) => (
              <tr key={i}>
                <th class="number" scope="row">
                  {steps[i]}
                </th>
                {values.map((row, k) => (
                  <td key={k} class="number">
                    {row[i] === undefined ? '–' : String(row[i])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
