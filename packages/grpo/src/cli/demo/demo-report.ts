import type { Arm } from './arms.js';
import { lineChart } from './chart.js';

/** Results of the demo. */
export interface DemoResult {
  sft: Arm;
  grpo: Arm;
  controls: { moreSft: Arm; shuffled: Arm } | undefined;
  /** Mean reward of each GRPO step. */
  rewards: number[];
  seconds: number;
}

/** The end of the demo in words: accuracies, the reward curve, three completions, the folders, commands to try. */
export function describeDemo({ sft, grpo, controls, rewards, seconds }: DemoResult): string {
  const row = (label: string, arm: Arm) => `  ${label.padEnd(36)}${accuracy(arm)}`;
  const lines = [
    '',
    `Accuracy on ${grpo.evaluation.problems} held-out problems, greedy, with its 95 % interval:`,
    row('before (SFT on a careless teacher)', sft),
    row('after GRPO', grpo),
  ];
  if (controls)
    lines.push(
      row('instead: more SFT, same compute', controls.moreSft),
      row('instead: shuffled rewards', controls.shuffled),
    );
  lines.push('', 'Mean reward of each GRPO step:', lineChart(rewards, { height: 9 }), '');
  for (const { prompt, completion, correct } of grpo.evaluation.examples.slice(0, 3)) {
    lines.push(`  ${correct ? 'right' : 'wrong'}  ${prompt}${completion}`);
  }
  lines.push(
    '',
    `The teacher of the SFT phase forgot most carries, so the model did too. GRPO saw no teacher, only whether answers were right.`,
    `${seconds.toFixed(0)} seconds. Run folder: ${grpo.output}`,
    '',
    'Try next:',
    `  npx grpo generate model=${grpo.model} --prompt 47+38=`,
    `  npx grpo train task.name=arithmetic model=${sft.model} optimizer.learningRate=3e-4 rollout.maxNewTokens=40`,
    '  npx grpo train --help',
  );
  return lines.join('\n');
}

/** The end of the demo for programs. */
export function demoData({ sft, grpo, controls, seconds }: DemoResult): object {
  const interval = ({ evaluation: { greedy } }: Arm) => [greedy.low, greedy.high];
  return {
    evalBefore: sft.evaluation.greedy.accuracy,
    evalBeforeInterval: interval(sft),
    evalAfter: grpo.evaluation.greedy.accuracy,
    evalAfterInterval: interval(grpo),
    ...(controls && {
      evalMoreSft: controls.moreSft.evaluation.greedy.accuracy,
      evalShuffled: controls.shuffled.evaluation.greedy.accuracy,
    }),
    seconds,
    steps: grpo.steps,
    tokens: sft.tokens + grpo.tokens,
    output: grpo.output,
  };
}

function accuracy({ evaluation: { greedy } }: Arm): string {
  const [value, low, high] = [greedy.accuracy, greedy.low, greedy.high].map((x) => x!.toFixed(3));
  return `${value}  (${low}–${high})`;
}
