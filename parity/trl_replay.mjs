/** Replays a run that trl_live.py recorded with our decoder, objective and optimizer; see trl_live.mjs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SafetensorsFile } from '../packages/grpo/dist/formats/safetensors.js';
import { loadModel } from '../packages/grpo/dist/models/folder/load.js';
import { advantagesOf, composedLoss, scoreTokens } from '../packages/grpo/dist/objective/index.js';
import { rolloutMetrics } from '../packages/grpo/dist/observe/metrics.js';
import { AdamW, fromBytes, noGrad, tensor, tidy } from '../packages/torch/dist/index.js';
import { advantageSettings, lossSettings } from './trl_settings.mjs';

/** One recorded run, and our side of it. */
export class Replay {
  constructor(folder, file) {
    this.record = JSON.parse(readFileSync(join(folder, `${file}.json`), 'utf8'));
    this.tensors = SafetensorsFile.open(join(folder, `${file}.safetensors`));
    this.settings = this.record.settings;
    this.decoder = loadModel(join(folder, 'model')).decoder;
    this.reference = this.settings.beta === 0 ? null : loadModel(join(folder, 'model')).decoder;
    for (const parameter of this.decoder.parameters.values()) parameter.requiresGrad = true;
    const { adam_beta1, adam_beta2, adam_epsilon, weight_decay } = this.settings;
    this.optimizer = new AdamW(this.decoder.parameters, {
      beta1: adam_beta1,
      beta2: adam_beta2,
      epsilon: adam_epsilon,
      weightDecay: weight_decay,
    });
    this.updates = this.record.microSteps.at(-1).update + 1;
    this.rollouts = [];
    /** The largest so far; of metrics by name, relative to what is larger than 1. */
    this.differences = { logprobs: 0, entropies: 0, advantages: 0, loss: 0, cosine: 1, metrics: new Map() };
    this.onlyTrl = new Set();
  }

  [Symbol.dispose]() {
    this.tensors[Symbol.dispose]();
    this.optimizer.dispose();
    for (const decoder of [this.decoder, this.reference])
      for (const parameter of decoder?.parameters.values() ?? []) parameter.dispose();
  }

  /** TRL's tensors of that kind, in the order of the parameters: `weights.<update>`, `gradient.<update>` or `again`. */
  theirs(kind) {
    return [...this.decoder.parameters.keys()].map((name) => {
      const { shape } = this.tensors.info(`${kind}.${name}`);
      return fromBytes(this.tensors.read(`${kind}.${name}`), shape, 'float32');
    });
  }

  /** Takes TRL's weights before an update. */
  takeWeights(update) {
    noGrad(() =>
      tidy(() => {
        const theirs = this.theirs(`weights.${update}`);
        for (const [i, parameter] of [...this.decoder.parameters.values()].entries())
          parameter.copy_(theirs[i]);
      }),
    );
  }

  /**
   * Adds up the gradients of an update, micro-batch by micro-batch, and compares what they are made of.
   *
   * @returns its metrics: as TRL has them, plain means over rollouts and micro-batches
   */
  accumulate(update) {
    const steps = this.record.microSteps.filter((step) => step.update === update);
    const metrics = new Map();
    const append = (values) => {
      for (const [name, value] of Object.entries(values)) {
        if (!metrics.has(name)) metrics.set(name, []);
        if (!Number.isNaN(value)) metrics.get(name).push(value);
      }
    };
    for (const step of steps) {
      if (!this.rollouts[step.rollout]) append(this.score(step.rollout));
      this.optimizer.accumulate(() => append(tidy(() => this.microStep(step, steps))));
    }
    return new Map([...metrics].map(([name, values]) => [name, mean(values)]));
  }

  /** Advantages and frozen log-probs of a rollout; returns its metrics. */
  score(r) {
    const rollout = this.record.rollouts[r];
    const { num_generations: group, reward_weights: weights } = this.settings;
    const names = this.settings.rewardNames;
    const columns = names.map((_, k) => Float64Array.from(rollout.rewards, (row) => row[k] ?? Number.NaN));
    const totals = Float64Array.from(rollout.rewards, (row) =>
      row.every((x) => x === null) ? Number.NaN : row.reduce((sum, x, k) => sum + (x ?? 0) * weights[k], 0),
    );
    const advantages = advantagesOf({ columns, weights, totals }, group, advantageSettings(this.settings));
    this.worst('advantages', [...advantages.advantages], rollout.advantages);
    const everyRow = rollout.completionIds.map((_, row) => row);
    const frozen = (decoder) =>
      noGrad(() => tidy(() => this.scoreRows(decoder, rollout, everyRow).logps.map((t) => t.toNumbers())));
    const old = rollout.oldLogps && frozen(this.decoder);
    const reference = this.reference && frozen(this.reference);
    const compare = (ours, theirs) =>
      this.worst('logprobs', trainedOf(ours, rollout, everyRow), trainedOf(theirs, rollout, everyRow));
    if (old) compare(old, rollout.oldLogps);
    if (reference) compare(reference, rollout.refLogps);
    this.rollouts[r] = { advantages: advantages.advantages, old, reference };
    const reasonOf = (ids) => (ids.at(-1) === this.settings.endId ? 'stop' : 'length');
    return rolloutMetrics({
      rewards_B: totals,
      rewardTable: { names, columns, failures: [] },
      advantages,
      completions_B: rollout.completionIds.map((ids) => ({ ids, finishReason: reasonOf(ids) })),
    });
  }

  /** Scores rows as our trainer does, completions of a prompt together; a tensor a row, in the order of `rows`. */
  scoreRows(decoder, rollout, rows, options = {}) {
    const group = (row) => Math.floor(row / this.settings.num_generations);
    const sorted = [...rows].sort((a, b) => a - b);
    const groups = [];
    for (const row of sorted) {
      const isNew = groups.length === 0 || group(row) !== group(groups.at(-1).first);
      if (isNew) groups.push({ first: row, prompt: rollout.promptIds[row], completions: [] });
      groups.at(-1).completions.push(rollout.completionIds[row]);
    }
    const scores = scoreTokens(decoder, groups, this.settings.temperature, options);
    let start = 0;
    const logps = [];
    const entropies = [];
    for (const row of sorted) {
      const { length } = rollout.completionIds[row];
      const place = rows.indexOf(row);
      logps[place] = scores.logprobs_T.narrow(0, start, length);
      entropies[place] = scores.entropies_T.narrow(0, start, length);
      start += length;
    }
    return { sorted, logps, entropies, ...scores };
  }

  /** Forward and backward pass of one micro-batch; returns its metrics. */
  microStep(step, steps) {
    const { settings } = this;
    const rollout = this.record.rollouts[step.rollout];
    const ours = this.rollouts[step.rollout];
    const scored = this.scoreRows(this.decoder, rollout, step.rows, {
      entropyGradient: settings.entropy_coef !== 0,
    });
    const trained = (rows) => trainedOf(rows, rollout, step.rows);
    const numbers = (tensors) => trained(tensors.map((t) => t.detach().toNumbers()));
    const entropies = numbers(scored.entropies);
    this.worst('logprobs', numbers(scored.logps), trained(step.logps));
    this.worst('entropies', entropies, trained(step.entropies));
    const pick = (values_B) => values_B && tensor(scored.sorted.flatMap((row) => values_B[row]));
    const out = composedLoss({
      logprobs_T: scored.logprobs_T,
      entropies_T: scored.entropies_T,
      oldLogprobs_T: pick(ours.old),
      referenceLogprobs_T: pick(ours.reference),
      samplerLogprobs_T: null,
      fullKl_T: null,
      advantages: scored.sorted.map((row) => ours.advantages[row]),
      lengths: scored.sorted.map((row) => rollout.completionIds[row].length),
      mask: Uint8Array.from(
        scored.sorted.flatMap((row) => rollout.completionIds[row].map(() => Number(rollout.trained[row]))),
      ),
      update: {
        completions: step.rows.length * step.accumulation,
        // TRL counts the whole generation batch, and takes the share of an update.
        tokens: (rollout.numItems * step.accumulation) / settings.steps_per_generation,
      },
      betas: scored.sorted.map(() => settings.beta),
      entropyCoefficient: settings.entropy_coef,
      settings: lossSettings(settings),
    });
    const loss = out.loss.item();
    this.worst('loss', [loss], [step.loss]);
    out.loss.backward();
    const { means, least = {}, most = {} } = out.metrics;
    const shares = Object.entries(means).map(([name, { sum, of }]) => [name, sum / Math.max(of, 1)]);
    return {
      ...Object.fromEntries(shares),
      ...finite(least),
      ...finite(most),
      entropy: entropies.length === 0 ? 0 : mean(entropies),
      // TRL logs the sum of an update's losses.
      loss: loss * steps.length,
    };
  }

  /** Compares the gradient of the update with TRL's; returns its norm. */
  compareGradient(update) {
    return tidy(() => {
      const { gradients } = this.optimizer;
      const wide = (tensors) => tensors.map((t) => t.to('float64'));
      const ours = wide([...this.decoder.parameters.keys()].map((name) => gradients.get(name)));
      const theirs = wide(this.theirs(`gradient.${update}`));
      const dot = (a, b) => a.reduce((sum, t, i) => sum + t.mul(b[i]).sum().item(), 0);
      const norm = Math.sqrt(dot(ours, ours));
      const cosine = dot(ours, theirs) / (norm * Math.sqrt(dot(theirs, theirs)));
      // Not Math.min: a NaN must show.
      if (!(cosine >= this.differences.cosine)) this.differences.cosine = cosine;
      return norm;
    });
  }

  /** Compares the metrics of an update with what TRL logged. */
  compareMetrics(update, ours) {
    const { metrics } = this.differences;
    for (const [name, logged] of Object.entries(this.record.logged[update])) {
      if (!ours.has(name)) this.onlyTrl.add(name);
      else if (logged !== null) {
        const apart = Math.abs(ours.get(name) - logged) / Math.max(1, Math.abs(logged));
        if (!(apart <= (metrics.get(name) ?? 0)) || !metrics.has(name)) metrics.set(name, apart);
      }
    }
  }

  worst(name, ours, theirs) {
    if (ours.length !== theirs.length)
      throw new Error(`${this.record.name}: ${name}: ${ours.length} values for ${theirs.length}`);
    for (const [i, value] of ours.entries()) {
      const apart = Math.abs(value - theirs[i]);
      // Not Math.max alone: a NaN must show.
      if (!(apart <= this.differences[name])) this.differences[name] = apart;
    }
  }
}

const mean = (values) =>
  values.length === 0 ? Number.NaN : values.reduce((a, b) => a + b, 0) / values.length;

const finite = (values) => Object.fromEntries(Object.entries(values).filter(([, x]) => Number.isFinite(x)));

/** The values of trained rows: where TRL masks a completion it also hides it from attention, and its scores mean nothing. */
const trainedOf = (values, rollout, rows) =>
  values.flatMap((row, i) => (rollout.trained[rows[i]] ? row : []));
