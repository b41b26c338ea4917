/** docs/parity.md from what trl_live.mjs measured. */

export const GOALS = { value: 1e-5, cosine: 0.99999, weight: 1e-6 };

/** Clocks, and counters of the trainer's own. */
const NO_METRICS = new Set(['step', 'epoch', 'step_time', 'learning_rate', 'num_tokens']);

/** @returns the page, and which goals were missed */
export function parityPage({ updates, trajectories, versions, vectors }) {
  const metrics = worstMetrics(updates);
  const kinds = [...byName(trajectories)];
  const onlyTrl = [...new Set(updates.flatMap((run) => [...run.onlyTrl]))].filter((x) => !NO_METRICS.has(x));
  const missed = [
    ...updates.filter((run) => !isWithin(run)).map(({ name }) => name),
    ...[...metrics].filter(([, apart]) => !(apart <= GOALS.value)).map(([name]) => `metric ${name}`),
    ...kinds.filter(([, runs]) => !(median(runs) <= GOALS.weight)).map(([name]) => `trajectory ${name}`),
  ];
  const within = trajectories.filter(({ apart }) => apart <= GOALS.weight).length;
  const most = Math.max(...trajectories.map(({ above }) => above));
  const page = `# Parity with TRL

Measured and written by \`parity/trl_live.mjs\`; not edited by hand.
${Object.entries(versions)
  .map(([name, version]) => `${name} ${version.split('+')[0]}`)
  .join(', ')}; all in float32 on the CPU.

\`\`\`sh
python parity/trl_live.py DIR              # runs TRL and records it, with the packages of parity/requirements.txt
npx tsc -b && node parity/trl_live.mjs DIR --write
\`\`\`

The model is a Qwen 2 of two layers and ${trajectories[0].weights.toLocaleString('en')} weights, random but for a few seconds of training,
so that some completions end and some are cut off. TRL samples; both sides then work on the same ids and rewards.

The formulas alone are held to TRL's in float64: \`parity/fixtures/objective.json\` has ${vectors} cases of TRL's own loss.
The test suite holds their values and gradients to 1e-10.

## Updates

Before each update our side takes TRL's weights. It then computes everything itself: log-probs (of policy, old policy
and reference), entropies, advantages, loss and gradient. Given is the largest difference of any number of a run, and
1 − cosine of the angle between the gradients of all weights. Goals: ${power(GOALS.value)}, and a cosine of ${GOALS.cosine}.

${table(
  ['run', 'updates', 'log-probs', 'entropies', 'advantages', 'loss', '1 − cosine'],
  updates.map((run) => [
    run.name,
    run.updates,
    ...[run.logprobs, run.entropies, run.advantages, run.loss, 1 - run.cosine].map(power),
  ]),
)}

## Metrics

What TRL logged at each of these updates, and the same names of ours, averaged over micro-batches as TRL does (our
\`metrics.jsonl\` weighs them by their tokens). Differences are relative where a metric is above 1.

${table(
  ['metric', 'largest difference'],
  [...metrics].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, apart]) => [`\`${name}\``, power(apart)]),
)}
${onlyTrl.length === 0 ? '' : `\nLogged by TRL and not compared here: ${onlyTrl.map((name) => `\`${name}\``).join(', ')}.\n`}
## Trajectories

${trajectories[0].updates} updates from the same weights, two a rollout, with AdamW at a learning rate of 1e-4; nothing is taken from TRL on
the way but ids and rewards. Given is the largest difference of any weight at the end, median and worst of ${kinds[0][1].length} seeds;
how far TRL ends from itself when it learns again from the same ids with another attention kernel (\`eager\` for
\`sdpa\`); and how far the weights moved.

${table(
  [
    'run',
    'median',
    'worst',
    `seeds within ${power(GOALS.weight)}`,
    'TRL and itself: median',
    'worst',
    'moved: largest',
    'rms',
  ],
  kinds.map(([name, runs]) => [
    name,
    power(median(runs)),
    power(Math.max(...runs.map(({ apart }) => apart))),
    `${runs.filter(({ apart }) => apart <= GOALS.weight).length} of ${runs.length}`,
    power(median(runs, 'again')),
    power(Math.max(...runs.map(({ again }) => again))),
    power(Math.max(...runs.map(({ moved }) => moved))),
    power(Math.max(...runs.map(({ movedRms }) => movedRms))),
  ]),
)}

${within} of ${trajectories.length} runs end within ${power(GOALS.weight)} in every weight${
    most === 0
      ? '.'
      : `; in the others at most ${most} of the ${trajectories[0].weights.toLocaleString('en')} weights ${most === 1 ? 'is' : 'are'} further
apart. AdamW divides a gradient by its own size: where it is almost zero, rounding decides the step. A larger epsilon
lessens that, as the row with 1e-6 shows.`
  }

## What differs on purpose

- **Tokens of an update.** \`dapo\` and \`cispo\` divide by the tokens of the update. Where a rollout serves several updates
  TRL takes their mean, ours counts each; the runs above use TRL's count.
- **Equal rewards** get an advantage of exactly 0; in float32 TRL gives eight rewards of 0.2 an advantage of −1.5e-4 each.
- **Padding.** Where \`config.json\` names a \`pad_token_id\`, transformers gives the embedding of that token no gradient,
  also where the model sampled it; ours makes no such exception. The model here names none.
- **The entropy bonus** is a mean over the update, not over each micro-batch. The run above uses \`compat: trl\`.
`;
  return { page, missed };
}

function byName(runs) {
  const found = new Map();
  for (const run of runs) found.set(run.name, [...(found.get(run.name) ?? []), run]);
  return found;
}

const isWithin = (run) =>
  [run.logprobs, run.entropies, run.advantages, run.loss].every((apart) => apart <= GOALS.value) &&
  run.cosine >= GOALS.cosine;

function worstMetrics(runs) {
  const worst = new Map();
  for (const { metrics } of runs) {
    for (const [name, apart] of metrics) if (!(apart <= worst.get(name))) worst.set(name, apart);
  }
  return worst;
}

function median(runs, key = 'apart') {
  const sorted = runs.map((run) => run[key]).sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

const power = (x) => (x === 0 ? '0' : x.toExponential(1).replace('.0e', 'e'));

function table(head, rows) {
  const all = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [line(head), `| ${widths.map((n) => '-'.repeat(n)).join(' | ')} |`, ...all.slice(1).map(line)].join(
    '\n',
  );
}
