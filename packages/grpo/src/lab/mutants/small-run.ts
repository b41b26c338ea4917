/** One small run, as `grpo train` does it, and what it came to. */
import { createHash } from 'node:crypto';
import { resolveConfig } from '../../config/index.js';
import type { Finding } from '../../doctor/finding.js';
import { openRun, type Run } from '../../run/open-run.js';
import { trainGrpo } from '../../run/train-grpo.js';
import type { Configuration } from './configurations.js';

/** How a small run is done. */
export interface SmallRunOptions {
  configuration: Configuration;
  /** Folder of the model that it starts from. */
  model: string;
  output: string;
  seed: number;
  threads: number;
  /** Whether a failed check stops it; otherwise nothing is checked. */
  isChecked: boolean;
}

/** What a small run leaves beside its folder. */
export interface Course {
  /** Fingerprints of the trained weights after each step. */
  weights: string[];
  /** What the doctor stopped it for, and after which step. */
  stopped?: { step: number; finding: Finding };
}

/** Does the run, and where its configuration says so stops it in the middle and resumes it. */
export async function smallRun(options: SmallRunOptions): Promise<Course> {
  const { resumeAfter } = options.configuration;
  const first = await part(options, false, resumeAfter);
  if (first.stopped || resumeAfter === 0) return first;
  const rest = await part(options, true, 0);
  return { ...rest, weights: [...first.weights, ...rest.weights] };
}

async function part(options: SmallRunOptions, resume: boolean, stopAfter: number): Promise<Course> {
  const { configuration, isChecked, model, output, seed, threads } = options;
  const task = configuration.task();
  const resolved = resolveConfig({
    command: 'train',
    env: {},
    code: { task: task.name, rewards: task.rewards.map(({ name, weight }) => ({ name, weight })) },
    settings: [
      ...configuration.settings,
      ...[`model=${model}`, `output=${output}`, `seed=${seed}`, `threads=${threads}`],
      `doctor.onFinding=${isChecked ? 'stop' : 'off'}`,
    ],
  });
  const weights: string[] = [];
  const interrupt = new AbortController();
  await using run: Run = await openRun(resolved, {
    task,
    resume,
    signal: interrupt.signal,
    watcher: {
      step({ step }) {
        weights.push(fingerprint(run));
        if (step === stopAfter) interrupt.abort();
      },
    },
  });
  const { stopped } = await trainGrpo(run);
  return { weights, ...(stopped && { stopped: { step: run.progress.step, finding: stopped } }) };
}

function fingerprint({ model }: Run): string {
  const hash = createHash('sha256');
  for (const tensor of model.decoder.trainable.values()) hash.update(tensor.toBytes());
  return hash.digest('hex').slice(0, 16);
}
