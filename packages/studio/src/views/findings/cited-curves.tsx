/** The curves that findings cite, small, with their steps marked. */
import type { ReportedFinding } from 'grpo/studio';
import { useAnswer } from '../../client.js';
import { linkToPlace } from '../../route.js';
import { SmallCurve } from './small-curve.js';

/** As many curves as one finding shows. */
const MOST_CURVES = 4;

export function CitedCurves({ run, items }: { run: string; items: readonly ReportedFinding[] }) {
  const metrics = new Set(items.flatMap((item) => item.metrics));
  return metrics.size === 0 ? null : <Curves run={run} items={items} metrics={metrics} />;
}

function Curves({
  run,
  items,
  metrics,
}: {
  run: string;
  items: readonly ReportedFinding[];
  metrics: ReadonlySet<string>;
}) {
  const { value, isPending } = useAnswer('curves', { run });
  // The text below does not move when the curves come.
  if (!value) return isPending ? <div class="findings-awaited" /> : null;
  const cited = value.curves.filter(({ name, steps }) => metrics.has(name) && steps.length > 1);
  const marks = items.flatMap(({ finding }) => finding.evidence.flatMap(({ step }) => step ?? []));
  return (
    <div class="findings-curves">
      {cited.slice(0, MOST_CURVES).map((curve) => (
        <a key={curve.name} href={linkToPlace({ run }, { filter: curve.name })}>
          <SmallCurve curve={curve} marks={[...new Set(marks)]} />
        </a>
      ))}
    </div>
  );
}
