/** Steps of the trainer on a policy of the lab, with the record and the metrics of each. */
import { AdamW } from '@grpo/torch';
import { Audit } from '../audit/audit.js';
import { resolveConfig } from '../config/index.js';
import type { Config } from '../config/schema.js';
import type { Decoder, Model } from '../models/index.js';
import { type CanaryProbe, probeCanaries } from '../observe/canaries.js';
import { metricsOf } from '../observe/metrics.js';
import { stepRecordOf } from '../observe/step-record.js';
import { StepRecorder } from '../observe/step-recorder.js';
import { learningRateAt } from '../run/schedule.js';
import { Control } from '../step/control.js';
import { grpoStep, UpdateError } from '../step/grpo-step.js';
import { MovingReference } from '../step/moving-reference.js';
import { atOnce } from '../step/peers/local-peers.js';
import type { Peers } from '../step/peers/peers.js';
import { ReplayStore } from '../step/replay-store.js';
import { samplingOf } from '../step/sampling.js';
import { type Stages, stages as standardStages } from '../step/stages.js';
import type { Trainer } from '../step/trainer.js';
import { Supply } from '../tasks/order/supply.js';
import type { Task } from '../tasks/task.js';
import { declaredOf } from '../trace/declared-of.js';
import {
  type AuditRecord,
  type Declared,
  type MetricSeries,
  type MetricsEntry,
  ownSeries,
  type StepRecord,
} from '../trace/index.js';
import { labPolicy, type PolicyOptions } from './lab-policy.js';
import { lettersTask } from './letters-task.js';

/** A run of a few steps, and what is not standard in it. */
export interface LabRun {
  policy?: Partial<PolicyOptions>;
  task?: Task;
  /** `key=value`, as on the command line. */
  settings?: readonly string[];
  steps?: number;
  seed?: number;
  stages?: Partial<Stages>;
  /** Changes what the steps work with, before the first. What it makes in place of an optimizer or a reference is freed. */
  plant?(trainer: Trainer): Partial<Trainer> | undefined;
  /** What the processes of the run are to each other, by rank, where there are several; the run is that of rank 0. */
  ranks?: readonly ((peers: Peers) => Peers)[];
  /** Whether its steps are audited in part only, by what needs no pass of the plain model, as most steps of a real run are. */
  isAuditedInPart?: boolean;
  /** Frees what the fault holds besides. */
  close?(): void;
}

/** A run in which nothing is wrong. */
export interface CleanRun extends LabRun {
  name: string;
  /** Warnings that are true of such a run, by code, with the reason. */
  explained?: Readonly<Record<string, string>>;
}

/** What the run left. */
export interface LabResult {
  declared: Declared;
  records: StepRecord[];
  series: MetricSeries;
}

const SMALL = [
  'rollout.prompts=4',
  'rollout.group=6',
  'rollout.maxNewTokens=12',
  'optimizer.learningRate=1e-3',
  'device=cpu',
  'model=lab',
];

/** Different policies that seeds take in turn. */
const POLICIES = 5;

/** The same run with other draws and another policy. */
export const atSeed = <R extends LabRun>(run: R, seed: number): R => ({
  ...run,
  seed,
  policy: { seed: seed % POLICIES, ...run.policy },
});

/** Does the steps; ends early, as a run does, when an update fails. */
export async function labRun(run: LabRun): Promise<LabResult> {
  const { ranks } = run;
  if (!ranks) return await labProcess(run);
  const results = await atOnce(ranks.length, (peers) => labProcess(run, ranks[peers.rank]!(peers)));
  return results[0]!;
}

async function labProcess(
  { task = lettersTask(), steps = 2, seed = 0, ...run }: LabRun,
  peers?: Peers,
): Promise<LabResult> {
  const base = await labPolicy(run.policy);
  const dtype = run.policy?.dtype ?? 'float32';
  const { config } = resolveConfig({
    command: 'train',
    env: {},
    code: { task: task.name, rewards: task.rewards.map(({ name, weight }) => ({ name, weight })) },
    settings: [...SMALL, ...(run.settings ?? []), `seed=${seed}`, `dtype=${dtype}`, `train.steps=${steps}`],
  });
  const decoder = base.decoder.clone();
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  const reference = config.kl.beta > 0 ? decoder.clone() : undefined;
  const trainer = trainerOf({ ...base, decoder }, reference, task, config, run.stages);
  const planted = { ...trainer, peers, ...run.plant?.(trainer) };
  try {
    return await takeSteps(planted, steps, !run.isAuditedInPart);
  } finally {
    for (const owned of new Set([trainer.optimizer, planted.optimizer, reference, decoder])) owned?.dispose();
    trainer.movingReference?.[Symbol.dispose]();
    run.close?.();
  }
}

function trainerOf(
  model: Model,
  reference: Decoder | undefined,
  task: Task,
  config: Config,
  stages: Partial<Stages> = {},
): Trainer {
  const { kl, groups, seed } = config;
  const trainer: Trainer = {
    model,
    reference,
    supply: new Supply(task.train, seed),
    replay: groups.replay > 0 ? new ReplayStore(groups.replay) : undefined,
    task,
    optimizer: new AdamW(model.decoder.parameters, config.optimizer),
    config,
    sampling: samplingOf(config, task.stop),
    stages: { ...standardStages, ...stages },
    control: new Control(config),
  };
  if (reference && kl.referenceEvery > 0) trainer.movingReference = new MovingReference(reference, trainer);
  return trainer;
}

async function takeSteps(trainer: Trainer, steps: number, isWhole: boolean): Promise<LabResult> {
  const { config } = trainer;
  const records: StepRecord[] = [];
  const entries: MetricsEntry[] = [];
  let tokens = 0;
  const note = (
    { recorded }: StepRecorder,
    step: number,
    measured: { canaries?: CanaryProbe | undefined; audit: AuditRecord },
  ) => {
    records.push(stepRecordOf(trainer, recorded, step, measured));
    const stepTokens = recorded.batch.sampledTokens;
    tokens += stepTokens;
    const { step: _, ...values } = metricsOf(recorded, step, { tokens, stepTokens });
    entries.push({ step, values });
  };
  for (let i = 0; i < steps; i++) {
    const problems = trainer.supply!.take(config.rollout.prompts);
    const canaries = await probeCanaries(trainer, i);
    const learningRate = learningRateAt(config.optimizer, i, steps);
    using recorder = new StepRecorder(trainer, { measureWeights: true, probeScoring: true });
    const audit = new Audit(trainer, { isWhole });
    const noteStep = () => {
      note(recorder, i + 1, { canaries, audit: audit.record });
      trainer.checksums = recorder.recorded.checksums;
    };
    try {
      await grpoStep({ ...trainer, observers: [recorder, ...audit.observers] }, problems, i, learningRate);
      noteStep();
    } catch (error) {
      if (!(error instanceof UpdateError)) throw error;
      noteStep();
      break;
    }
  }
  return { declared: declaredOf(config), records, series: ownSeries(entries) };
}
