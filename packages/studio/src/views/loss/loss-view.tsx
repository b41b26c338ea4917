/** The loss as a sum: from the loss to groups, completions and tokens, as recorded and with another ε or β. */
import type { LossAnswer, LossSettings } from 'grpo/studio';
import { useAnswer } from '../../client.js';
import { signedNumber } from '../../parts/numbers.js';
import { SafeText } from '../../parts/safe-text.js';
import { SignedMark } from '../../parts/signed-mark.js';
import { Answered } from '../../parts/status.js';
import { UpdateSelect } from '../../parts/update-select.js';
import { parseWhole, type Route } from '../../route.js';
import { Hypothetical, SETTINGS } from './hypothetical.js';
import './loss.css';
import { isRounding } from './loss-rows.js';
import { LossTree } from './loss-tree.js';

interface LossViewProps {
  run: string;
  step: number;
  query: Route['query'];
}

export function LossView({ run, step, query }: LossViewProps) {
  const update = parseWhole(query.update);
  const place = { run, step, ...(update !== undefined && { update }) };
  const changed = changedOf(query);
  const recorded = useAnswer('loss', place);
  const tried = useAnswer('loss', changed && { ...place, ...changed });
  return (
    <Answered answer={recorded}>
      {(loss) => (
        <div class="loss">
          <h1>
            The loss as a sum <span class="soft">step {step}</span>
          </h1>
          {loss.updates > 1 && <UpdateSelect label="update" update={loss.update} updates={loss.updates} />}
          {loss.lacks.length > 0 && (
            <p class="loss-lacks">
              <SafeText text={loss.lacks.join(' ')} />
            </p>
          )}
          <Sum loss={loss} />
          <Hypothetical loss={loss} changed={changed} tried={tried} />
          <LossTree {...place} query={query} loss={loss} changed={changed} tried={tried.value} />
        </div>
      )}
    </Answered>
  );
}

/** The settings that the address asks to try. */
function changedOf(query: Route['query']): LossSettings | undefined {
  const given = SETTINGS.flatMap(({ key }) => {
    const value = Number(query[key] || Number.NaN);
    return Number.isFinite(value) && value >= 0 ? [[key, value] as const] : [];
  });
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

/** The recorded loss beside the sum of its parts. */
function Sum({ loss }: { loss: LossAnswer }) {
  const { recorded, total, components, groups } = loss;
  const isSame = recorded !== undefined && isRounding(total - recorded, groups);
  return (
    <table class="loss-sum">
      <tbody>
        <tr>
          <th scope="row">recorded loss</th>
          <td class="number">{exact(recorded)}</td>
          <td />
        </tr>
        <tr>
          <th scope="row">sum of its tokens</th>
          <td class="number">{exact(total)}</td>
          <td class={isSame ? 'good' : 'warn'}>
            {recorded === undefined
              ? 'the record has no loss to compare with'
              : isSame
                ? '✓ the same, to rounding'
                : '✕ not the same'}
          </td>
        </tr>
        {recorded !== undefined && (
          <tr>
            <th scope="row">difference</th>
            <td class="number">{signedNumber(total - recorded, 3)}</td>
            <td />
          </tr>
        )}
        {components.map(({ name, value }) => (
          <tr key={name}>
            <th scope="row">
              of it: <SafeText text={name} most={60} />
            </th>
            <td class="number">
              <SignedMark value={value} digits={6} />
            </td>
            <td />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const exact = (value: number | undefined): string => signedNumber(value, 8);
