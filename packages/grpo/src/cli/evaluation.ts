import type { EvalResult } from '../train/index.js';

/** One line a way of decoding: `before   greedy 31.0% (25.0–37.7%) of 200   sampled …`. */
export function formatEvaluation(label: string, { greedy, sampled, problems }: EvalResult): string {
  const percent = (x: number) => (100 * x).toFixed(1);
  const score = (name: string, s: EvalResult['greedy']) =>
    `${name} ${percent(s.accuracy)}% (${percent(s.low)}–${percent(s.high)}%), length ${s.meanLength.toFixed(1)}, cut ${percent(s.truncated)}%`;
  const parts = [score('greedy', greedy), ...(sampled ? [score('sampled', sampled)] : [])];
  return `accuracy ${label}, ${problems} problems: ${parts.join('; ')}`;
}
