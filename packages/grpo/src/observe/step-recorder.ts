import { tensor } from '@grpo/torch';
import { mean } from '../maths/moments.js';
import { checksumOf, weightsChecksum } from '../models/index.js';
import type { Batch } from '../step/batch.js';
import { MetricTally, metricsOfPass } from '../step/metric-tally.js';
import type { MicroBatch } from '../step/micro-batch.js';
import type { MicroBatchPass, StepObserver, UpdateResult } from '../step/observer.js';
import type { Trainer, WeightChecksums } from '../step/trainer.js';
import type { Update } from '../step/updates.js';
import type { Probes, UpdateRecord } from '../trace/index.js';
import { GradientArrival } from './gradient-arrival.js';
import { KindGradients } from './kind-gradients.js';
import { type ProbeScoring, scoringProbes } from './probes.js';
import { Stopwatch } from './stopwatch.js';
import { idleAdapters, normsOf, type ScoredIds, UpdateTrace } from './update-trace.js';
import { WeightSample } from './weight-sample.js';

/** One step, for records and metrics. */
export interface RecordedStep {
  batch: Batch;
  /** The ids that were scored, by completion. */
  scored: ReadonlyMap<number, ScoredIds>;
  updates: UpdateRecord[];
  /** What was measured besides, where it was asked for. */
  probes: Probes | undefined;
  learningRate: number;
  /** Of the weights that it leaves. */
  checksums: WeightChecksums;
  /** Means over the step's updates. */
  loss: number;
  gradNorm: number;
  /** The loss's own metrics over the step, and the weights of the objective. */
  metrics: Record<string, number>;
  /** Seconds of each stage. */
  seconds: Record<string, number>;
}

/** What costs time and is recorded only where it is asked for. */
export interface RecorderOptions {
  /** Whether each update is to say how many weights it changed. */
  measureWeights?: boolean;
  /** Whether a completion of the first update is to be scored again. */
  probeScoring?: ProbeScoring;
}

/** An update, as far as it is. */
interface OpenUpdate {
  isFirst: boolean;
  trace: UpdateTrace;
  arrival: GradientArrival;
  tally: MetricTally;
  /** Where kinds are compared: the gradients of each. */
  kinds: KindGradients | undefined;
  apart: Update['apart'];
}

/** Records one step of a trainer. */
export class StepRecorder implements StepObserver, Disposable {
  readonly #clock = new Stopwatch();
  readonly #tally = new MetricTally();
  readonly #scored = new Map<number, ScoredIds>();
  readonly #updates: UpdateRecord[] = [];
  #batch: Batch | undefined;
  #step = 0;
  #update: OpenUpdate | undefined;
  #weights: WeightSample | undefined;
  #idle: ReadonlySet<string> = new Set();
  #kindMetrics: Record<string, number> = {};
  #probes: Probes | undefined;
  #recorded: RecordedStep | undefined;

  /** @param trainer - the one that takes the step */
  constructor(
    private readonly trainer: Trainer,
    private readonly options: RecorderOptions = {},
  ) {}

  /** The step, once it is done, or has failed for a gradient that is not finite. */
  get recorded(): RecordedStep {
    if (!this.#recorded) throw new Error('the step is not done yet');
    return this.#recorded;
  }

  stage<T>(name: string, work: () => T): T {
    return this.#clock.stage(name, work);
  }

  compared(batch: Batch, step: number): void {
    this.#batch = batch;
    this.#step = step;
  }

  updateBegins({ index, iteration, apart }: Update): void {
    this.#update?.kinds?.dispose();
    // Those of a causal model are all the first one.
    const number = this.#batch!.iterations.indexOf(iteration);
    this.#update = {
      isFirst: index === 0,
      trace: new UpdateTrace(this.#scored, { iteration, number }),
      arrival: new GradientArrival(this.trainer),
      tally: new MetricTally(),
      kinds: apart && new KindGradients(this.trainer.optimizer),
      apart,
    };
  }

  microBatchBegins({ members }: MicroBatch): void {
    const { kinds, apart } = this.#update!;
    kinds?.begin(apart!(members[0]!));
  }

  microBatchDone(pass: MicroBatchPass): void {
    const { isFirst, tally, trace, arrival } = this.#update!;
    tally.add(metricsOfPass(pass));
    // The policy is still the one that sampled: its log-probs should be the sampler's.
    if (isFirst) this.#compareSampler(tally, pass);
    trace.add(pass, arrival.arrived(pass));
  }

  beforeUpdate(): void {
    const { isFirst, trace, tally, kinds } = this.#update!;
    const { trainer, options } = this;
    this.#tally.merge(tally);
    if (kinds) {
      this.#kindMetrics = this.stage('kinds', () => kinds.metrics());
      kinds.dispose();
    }
    const { probeScoring } = options;
    if (isFirst && probeScoring) {
      this.#probes = this.stage('probe', () => this.#probe(trace, probeScoring));
    }
    this.#idle = idleAdapters(trainer.model.decoder.trainable);
    this.#weights = options.measureWeights ? new WeightSample(trainer.optimizer) : undefined;
  }

  updated({ loss, learningRate, gradNorm, gradNorms, checksums }: UpdateResult): void {
    const { control } = this.trainer;
    this.#updates.push(
      this.#update!.trace.record({
        loss,
        learningRate,
        gradNorm,
        ...control.factsOf(this.#step),
        ...(gradNorms && normsOf(gradNorms, this.#idle)),
        ...this.#weights?.changes(),
        ...(checksums && { weightChecksums: [...checksums] }),
      }),
    );
    this[Symbol.dispose]();
  }

  failed(result: UpdateResult): void {
    this.updated(result);
    this.done();
  }

  done(): void {
    const { control, model, optimizer, reference, checksums } = this.trainer;
    const updates = this.#updates;
    const batch = this.#batch!;
    this.#recorded = {
      batch,
      scored: this.#scored,
      updates,
      probes: this.#probes,
      learningRate: updates.at(-1)!.learningRate!,
      checksums: {
        policy: weightsChecksum(model.decoder),
        optimizer: checksumOf(optimizer.state().values()),
        ...(reference && { reference: weightsChecksum(reference) }),
        first: checksums ? checksums.first : batch.completions_B[0]?.weights,
      },
      loss: mean(updates.map((update) => update.loss!)),
      gradNorm: mean(updates.map((update) => update.gradNorm!)),
      metrics: { ...this.#tally.values, ...control.metrics(this.#step, batch.kinds_P), ...this.#kindMetrics },
      seconds: this.#clock.seconds,
    };
  }

  /** Frees what an update holds that was not finished. */
  [Symbol.dispose](): void {
    this.#weights?.[Symbol.dispose]();
    this.#weights = undefined;
    this.#update?.kinds?.dispose();
  }

  #probe(trace: UpdateTrace, which: ProbeScoring): Probes {
    const { model, reference, teacher } = this.trainer;
    const isAlike =
      reference && !teacher && (model.decoder.lora === undefined) === (reference.lora === undefined);
    return {
      ...scoringProbes(this.trainer, this.#batch!, trace, which),
      ...(isAlike && {
        checksums: { policy: weightsChecksum(model.decoder), reference: weightsChecksum(reference) },
      }),
    };
  }

  /** How far trainer and sampler are apart on the tokens that were sampled in this step, not replayed. */
  #compareSampler(tally: MetricTally, { micro, scores, input }: MicroBatchPass): void {
    const batch = this.#batch!;
    const { samplerLogprobs_T, lengths } = input;
    if (!samplerLogprobs_T) return;
    const isOwn = (b: number) => !batch.exchange?.replayed.has(batch.problemOf(b));
    const owners = micro.members.flatMap((b, i) => Array<number>(lengths[i]!).fill(b));
    const compare = (isMeant: (b: number) => boolean, server?: string) => {
      const places = owners.flatMap((b, t) => (isOwn(b) && isMeant(b) ? [t] : []));
      if (places.length === 0) return;
      const own_T = tensor(places, undefined, { dtype: 'int64', device: this.trainer.model.decoder.device });
      const [trainer_T, sampler_T] = [scores.logprobs_T.detach(), samplerLogprobs_T];
      tally.compare(trainer_T.indexSelect(0, own_T), sampler_T.indexSelect(0, own_T), server);
    };
    compare(() => true);
    const { records = [] } = this.trainer.servers ?? {};
    if (records.length < 2) return;
    for (const { name } of records) compare((b) => batch.completions_B[b]!.source?.server === name, name);
  }
}
