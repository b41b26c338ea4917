import { readFileSync } from 'node:fs';
import { median } from '../../packages/grpo/dist/maths/quantile.js';
import { workloadOf, workloads } from './workloads.mjs';

/** Median, least and most. */
const spread = (values) => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
});

/** Seconds up to the batch that is learnt from, as TRL's rollout counts them: with the reference's log-probs. */
const rolloutOf = (side, result) =>
  side === 'trl'
    ? result.rollout_s_median
    : result.rollout_s_median + (stageOf(result, 'reference')?.seconds ?? 0);

const stageOf = (result, name) => result.stages.find(({ stage }) => stage === name);

const measures = {
  step: (_side, result) => result.step_s_median,
  rollout: rolloutOf,
  generation: (side, result) => (side === 'trl' ? result.generate_s_median : result.rollout_s_median),
  memory: (_side, result) => result.peak_rss_mb,
};

/**
 * What the rows say of each workload: spreads of both sides, ratios of the medians (TRL ÷ ours in seconds, ours ÷ TRL in
 * memory), which goals were missed, and the stages of ours, also where TRL was not run.
 *
 * @param rows - `{ workload, side, result }`, as the log has them
 */
export function summarize(rows) {
  const drawn = rows.map(({ workload }) => workload).filter((name) => name.startsWith('seed-'));
  const names = new Set([...workloads.map(({ name }) => name), ...drawn]);
  return [...names].map(workloadOf).map(({ name, title, goals }) => {
    const of = (wanted) => rows.filter(({ workload, side }) => workload === name && side === wanted);
    const [trl, ours] = [of('trl'), of('ours')];
    const own = ours.length === 0 ? {} : { floors: floorsOf(ours), stages: stagesOf(ours) };
    if (trl.length === 0 || ours.length === 0) return { name, title, goals, rounds: 0, ...own };
    const entries = Object.entries(measures).map(([key, measure]) => {
      const over = (runs) => spread(runs.map(({ side, result }) => measure(side, result)));
      const sides = { trl: over(trl), ours: over(ours) };
      const faster = sides.trl.median / sides.ours.median;
      return [key, { ...sides, ratio: key === 'memory' ? 1 / faster : faster }];
    });
    const compared = Object.fromEntries(entries);
    const missed = Object.entries(goals)
      .filter(
        ([key, goal]) => !(key === 'memory' ? compared[key].ratio <= goal : compared[key].ratio >= goal),
      )
      .map(([key]) => key);
    return {
      name,
      title,
      goals,
      rounds: Math.min(trl.length, ours.length),
      ...compared,
      missed,
      ...own,
    };
  });
}

const floorsOf = (runs) =>
  Object.fromEntries(
    ['decode_over_floor', 'step_over_floor'].map((key) => [
      key,
      median(runs.map(({ result }) => result[key])),
    ]),
  );

function stagesOf(runs) {
  const results = runs.map(({ result }) => result);
  return results[0].stages.map(({ stage }) => {
    const middle = (key) => {
      const values = results.map((result) => stageOf(result, stage)[key]);
      return values.some((value) => value === undefined) ? undefined : median(values);
    };
    const shares = results.map((result) => stageOf(result, stage).gflops / result.matmul_gflops);
    return {
      stage,
      seconds: middle('seconds'),
      floor: middle('floor'),
      tokensPerSecond: middle('tokensPerSecond'),
      gflops: middle('gflops'),
      share: middle('gflops') === undefined ? undefined : median(shares),
    };
  });
}

const fixed = (digits) => (value) => value.toFixed(digits);
const range = ({ median, least, most }, show) => `${show(median)} (${show(least)}–${show(most)})`;
const tableOf = (header, rows) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** The tables of `docs/benchmarks.md`. */
export function tables(rows) {
  const summary = summarize(rows);
  const measured = summary.filter(({ rounds }) => rounds > 0);
  const timed = summary.filter(({ stages }) => stages !== undefined);
  const times = fixed(2);
  const own = { processor: distinct(rows.map(({ machine }) => machine)), date: dateOf(rows) };
  const others = earlier.filter(({ processor }) => processor !== own.processor);
  const cell = (ratios) =>
    ratios ? `${times(ratios.step)} · ${times(ratios.rollout)} · ${times(ratios.memory)}` : '–';
  const ownCell = ({ rounds, missed, ...s }) =>
    rounds === 0
      ? 'not measured'
      : `${cell(Object.fromEntries(['step', 'rollout', 'memory'].map((key) => [key, s[key].ratio])))}${missed.length > 0 ? `; missed: ${missed.join(', ')}` : ''}`;
  const ratios = tableOf(
    ['workload', 'goals', ...[own, ...others].map(({ processor, date }) => `${processor}, ${date}`)],
    summary.map((entry) => [
      entry.title,
      entry.goals.step ? `≥ ${entry.goals.step} · ≥ ${entry.goals.rollout} · ≤ ${entry.goals.memory}` : '',
      ownCell(entry),
      ...others.map(({ ratios }) => cell(ratios[entry.name])),
    ]),
  );
  const floored = others.filter(({ floors }) => floors !== undefined);
  const floorCell = (floors) =>
    floors ? `${times(floors.decode_over_floor)} · ${times(floors.step_over_floor)}` : '–';
  const floors = tableOf(
    ['workload', ...[own, ...floored].map(({ processor, date }) => `${processor}, ${date}`)],
    timed.map(({ name, title, floors }) => [
      title,
      floorCell(floors),
      ...floored.map((other) => floorCell(other.floors[name])),
    ]),
  );
  const sides = tableOf(
    ['workload', 'side', 'step, s', 'rollout, s', 'generation alone, s', 'peak memory, MB', 'runs'],
    measured.flatMap(({ title, rounds, ...s }) =>
      ['trl', 'ours'].map((side) => [
        side === 'trl' ? title : '',
        side === 'trl' ? 'TRL' : 'ours',
        ...['step', 'rollout', 'generation'].map((key) => range(s[key][side], fixed(3))),
        range(s.memory[side], fixed(0)),
        `${rounds}`,
      ]),
    ),
  );
  const stages = timed.map(
    ({ title, stages }) =>
      `${title}\n\n${tableOf(
        ['stage', 'seconds', 'floor', 'tokens/s', 'GFLOP/s', 'of the matrix rate'],
        stages.map(({ stage, seconds, floor, tokensPerSecond, gflops, share }) => [
          stage,
          seconds.toFixed(3),
          floor.toFixed(3),
          tokensPerSecond?.toFixed(0) ?? '',
          gflops?.toFixed(0) ?? '',
          share === undefined ? '' : `${(100 * share).toFixed(0)} %`,
        ]),
      )}`,
  );
  return { ratios, floors, sides, stages: stages.join('\n\n') };
}

/** Results of other processors: what cannot be measured today. */
const earlier = JSON.parse(readFileSync(new URL('earlier.json', import.meta.url), 'utf8'));

const dateOf = (rows) => {
  const days = rows.map(({ at }) => at.slice(0, 10)).sort();
  return distinct([days[0], days.at(-1)]);
};

/** Each distinct value once. */
const distinct = (values) => [...new Set(values)].join(', ');

/** `docs/benchmarks.md`. */
export function page(rows) {
  const { ratios, floors, sides, stages } = tables(rows);
  const [trl, ours] = ['trl', 'ours'].map((side) =>
    rows.filter((row) => row.side === side).map(({ result }) => result),
  );
  const loads = rows.map(({ load }) => load);
  return `# Benchmarks

Made by \`npm run bench:trl -- --write\`, ${dateOf(rows)}.

${tableOf(
  ['', ''],
  [
    ['processor', distinct(rows.map(({ machine }) => machine))],
    ['threads', `${distinct(rows.map(({ threads }) => threads))} on each side`],
    [
      'TRL',
      `${distinct(trl.map(({ versions }) => versions.trl))}, transformers ${distinct(trl.map(({ versions }) => versions.transformers))}, torch ${distinct(trl.map(({ torch }) => torch))}`,
    ],
    [
      'ours',
      `commit ${distinct(rows.filter(({ side }) => side === 'ours').map(({ commit }) => commit))}, libtorch ${distinct(ours.map(({ torch }) => torch))}, Node ${distinct(rows.map(({ node }) => node))}`,
    ],
    [
      'a run',
      `${distinct(rows.map(({ steps }) => steps))} steps, most where they are short; the first warms up, ours for five seconds or more; the others’ median counts`,
    ],
    ['load average before a run', `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`],
  ],
)}

## Beside TRL

Step · rollout · peak memory. Seconds are TRL ÷ ours, more is better; memory is ours ÷ TRL, less is better. Numbers behind a
processor's name are its family and model.

${ratios}

Both sides do the same work: random weights of the same shapes, random prompts, the loss \`dapo\`, AdamW, one update a
rollout, and completions whose end is suppressed, or forced at lengths drawn from the same distribution. The sides take
turns, a fresh process each. Each computes as it does by default: TRL all completions of a step in one micro-batch, ours in
micro-batches of \`train.microBatchTokens\`. V8 compiles JavaScript while it runs, so ours warms up for five seconds; PyTorch
compiles nothing here.

- **step**: sampling to the end of the backward pass. Ours has the optimizer's update too, which TRL's \`step_time\` leaves
  out.
- **rollout**: all that comes before the loss: generation, rewards, the reference's log-probs. **Generation alone** has no
  reference in it.
- **peak memory**: resident memory of the process, libraries included.
- **bf16**: TRL's weights are float32, and autocast computes in bfloat16, generation included. Our weights are bfloat16, with
  float32 masters in the optimizer. Matrix products are bfloat16 on both sides. Where a processor has none, as with AVX2
  alone, libtorch multiplies it in one thread without vectors: on an EPYC TRL's run of GPT-2 had no result after three minutes,
  and was stopped.

Medians of the runs, with the least and the most:

${sides}

## Stages of ours

A stage's floor is the longer of two times: of its arithmetic, at the best rate of products of those shapes whose weights
lie in a cache, and of the bytes that it must read and write (weights, gradients, the optimizer's state, cached keys and
values), at the bandwidth of \`a + s × b\` (\`lab/bench/floor.ts\`). Both are measured in the process of the run, the rates of
products right after each step and for its lengths: the speed of a shared machine changes. A ratio is the median over the
steps of each one's own. Laying out the weights, once a rollout, counts as prefill; in columns up to 2026-11-28 it counts as
decoding. Decoding ÷ floor (goal: ≤ 1.6) · step ÷ floor (goal: ≤ 1.5):

${floors}

Medians of the runs. GFLOP/s count what must be computed when nothing is computed twice (\`lab/bench/flops.ts\`); the matrix
rate is that of a square product in the same precision, measured in the same process. What the backward pass computes a
second time, such as logits, is not counted.

${stages}

## On a GPU

Measured by hand on one NVIDIA H200 with 16 cores of an Intel Xeon, libtorch 2.11.0+cu130, 2026-11-29; TRL and transformers
were not run beside it. Qwen2.5-0.5B shapes, 16 × 16, 256 + 256, β 0, bf16:

| stage   | seconds | ÷ floor |                                                                                    |
| ------- | ------- | ------- | ---------------------------------------------------------------------------------- |
| prefill | 0.25    |         |                                                                                    |
| decode  | 9.10    |         | 7,200 tokens/s, in seven lots of 37 completions: 5 ms a step, 2.5 of them its graph |
| forward | 1.53    | 1.06    | 45,458 tokens/s                                                                    |
| backward | 2.84   | 0.98    | 24,546 tokens/s                                                                    |
| step    | 14.3    |         |                                                                                    |

The demo learned there in 52 seconds, SFT included (22.5 to 99.0 % greedy), with the audit's bound of AdamW widened by hand. Lots
were cut as on a CPU, and floors of short products were those of starting them. All three have changed since, and did not run
there again. \`bench/gpu.sh\` runs the tests and the
benchmark on a GPU, beside transformers' generate and a plain step, and prints one table.
`;
}
