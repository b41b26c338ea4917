/** Every check: those that were made, and those that could not be, with what was missing. */
import type { RunReport } from 'grpo/studio';
import { SafeText } from '../../parts/safe-text.js';

type Judged = RunReport['checks'][number];

export function CheckTables({ checks }: { checks: RunReport['checks'] }) {
  const isMade = ({ judged }: Judged) => judged > 0;
  return (
    <>
      <CheckTable title="Checks that were made" checks={checks.filter(isMade)} />
      <CheckTable title="Checks that could not be made" checks={checks.filter((check) => !isMade(check))} />
    </>
  );
}

function CheckTable({ title, checks }: { title: string; checks: readonly Judged[] }) {
  if (checks.length === 0) return null;
  return (
    <details class="findings-checks">
      <summary>
        {title}: {checks.length}
      </summary>
      <table>
        <thead>
          <tr>
            <th scope="col">check</th>
            <th scope="col">what must hold</th>
            <th scope="col">judged</th>
          </tr>
        </thead>
        <tbody>
          {checks.map(({ code, title: holds, verdict, judged, missing }) => (
            <tr key={code} class={CLASSES[verdict]}>
              <td class="mono">{code}</td>
              <td>{holds}</td>
              <td>
                {judged === 0 ? (
                  <SafeText text={`no${missing.length > 0 ? `: needs ${missing.join(', ')}` : ''}`} />
                ) : (
                  `${verdict}${judged > 1 ? ` (${judged} times)` : ''}`
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

const CLASSES: Partial<Record<Judged['verdict'], string>> = { fail: 'fail', warn: 'warn' };
