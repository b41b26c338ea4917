/** docs/parity.md from what trl_live.mjs measured. */
export function parityPage({ runs, trajectories }) {
  const lines = runs.map((r) => [r.name, r.updates, r.logps, r.old, r.reference, r.entropy, r.advantage, r.loss, 1 - r.cosine, r.gradient].map((x) => typeof x === 'number' ? Number(x.toPrecision(3)) : x).join(' | '));
  const names = new Map();
  for (const r of runs) for (const [k, v] of r.metrics) names.set(k, Math.max(v, names.get(k) ?? 0));
  return [...lines, JSON.stringify(trajectories, null, 1), JSON.stringify([...names]), 'missing ' + [...new Set(runs.flatMap((r) => [...r.names.missing]))], 'extra ' + [...new Set(runs.flatMap((r) => [...r.names.extra]))]].join('\n');
}
