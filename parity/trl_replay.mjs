/** Replays a run that trl_live.py recorded with our decoder, objective and optimizer; see trl_live.mjs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SafetensorsFile } from '../packages/grpo/dist/formats/safetensors.js';
import { loadModel } from '../packages/grpo/dist/models/load.js';
import { advantagesOf, composedLoss, scoreTokens } from '../packages/grpo/dist/objective/index.js';
import { rolloutMetrics } from '../packages/grpo/dist/train/metrics.js';
import { AdamW, fromBytes, noGrad, tensor, tidy } from '../packages/torch/dist/index.js';
import { advantageSettings, lossSettings } from './trl_settings.mjs';

/** @typedef {{ logps: number, old: number, reference: number, entropy: number, advantage: number, loss: number, metrics: Map<string, number>, cosine: number, gradient: number }} Differences */

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
    this.differences = { logps: 0, old: 0, reference: 0, entropy: 0, advantage: 0, loss: 0, metrics: new Map() };
    Object.assign(this.differences, { cosine: 1, gradient: 0 });
  }

  /** TRL's tensors of that kind, by parameter: `weights.<update>` or `gradient.<update>`. */
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

  /** Adds the gradients of an update, micro-batch by micro-batch, and compares what goes into them. */
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
      append(tidy(() => this.microStep(step, steps)));
      this.optimizer.accumulate();
    }
    const means = new Map([...metrics].map(([name, values]) => [name, mean(values)]));
    return means;
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
    this.worst('advantage', [...advantages.advantages], rollout.advantages);
    const everyRow = rollout.completionIds.map((_, row) => row);
    const frozen = (decoder) =>
      noGrad(() => tidy(() => this.scoreRows(decoder, rollout, everyRow).logps.map((t) => t.toNumbers())));
    const old = rollout.oldLogps && frozen(this.decoder);
    const reference = this.reference && frozen(this.reference);
    if (old) this.worst('old', trainedOf(old, rollout, everyRow), trainedOf(rollout.oldLogps, rollout, everyRow));
    if (reference)
      this.worst('reference', trainedOf(reference, rollout, everyRow), trainedOf(rollout.refLogps, rollout, everyRow));
    this.rollouts[r] = { advantages: advantages.advantages, old, reference };
    const end = this.settings.endId;
    return rolloutMetrics({
      rewards_B: totals,
      rewardTable: { names, columns, failures: [] },
      advantages,
      completions_B: rollout.completionIds.map((ids) => ({
        ids,
        finishReason: ids.at(-1) === end ? 'stop' : 'length',
      })),
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
    const scored = this.scoreRows(this.decoder, rollout, step.rows, { entropyGradient: settings.entropy_coef !== 0 });
    const numbers = (tensors) => trainedOf(tensors.map((t) => t.detach().toNumbers()), rollout, step.rows);
    this.worst('logps', numbers(scored.logps), trainedOf(step.logps, rollout, step.rows));
    this.worst('entropy', numbers(scored.entropies), trainedOf(step.entropies, rollout, step.rows));
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
    // TRL logs the sum of an update's losses.
    return { ...Object.fromEntries(shares), ...finite(least), ...finite(most), loss: loss * steps.length };
  }

  /** Compares the gradient of the update with TRL's. */
  compareGradient(update) {
    tidy(() => {
      const { gradients } = this.optimizer;
      const ours = [...this.decoder.parameters.keys()].map((name) => gradients.get(name));
      const theirs = this.theirs(`gradient.${update}`);
      const dot = (a, b) => a.reduce((sum, t, i) => sum + t.to('float64').mul(b[i].to('float64')).sum().item(), 0);
      const [own, their] = [Math.sqrt(dot(ours, ours)), Math.sqrt(dot(theirs, theirs))];
      const cosine = own === 0 && their === 0 ? 1 : dot(ours, theirs) / (own * their);
      this.differences.cosine = Math.min(this.differences.cosine, cosine);
      const apart = ours.map((t, i) => t.sub(theirs[i]));
      this.differences.gradient = Math.max(this.differences.gradient, Math.sqrt(dot(apart, apart)) / (their || 1));
      this.gradNorm = own;
    });
  }

  /** Compares the metrics of an update with what TRL logged; returns names that only one of the two has. */
  compareMetrics(update, ours) {
    const logged = this.record.logged[update];
    for (const [name, value] of ours) {
      if (logged[name] === undefined || logged[name] === null) continue;
      const most = this.differences.metrics.get(name) ?? 0;
      this.differences.metrics.set(name, Math.max(most, Math.abs(value - logged[name])));
    }
    const missing = Object.keys(logged).filter((name) => !ours.has(name));
    return { missing, extra: [...ours.keys()].filter((name) => !(name in logged)) };
  }

  worst(name, ours, theirs) {
    if (ours.length !== theirs.length) throw new Error(`${this.record.name}: ${name}: ${ours.length} values for ${theirs.length}`);
    for (const [i, value] of ours.entries()) {
      const apart = Math.abs(value - theirs[i]);
      // Not Math.max alone: a NaN must show.
      if (!(apart <= this.differences[name])) this.differences[name] = apart;
    }
  }
}

const mean = (values) => (values.length === 0 ? Number.NaN : values.reduce((a, b) => a + b, 0) / values.length);

const finite = (values) => Object.fromEntries(Object.entries(values).filter(([, x]) => Number.isFinite(x)));

/** The values of trained rows: where TRL masks a completion it also hides it from attention, and its scores mean nothing. */
const trainedOf = (values, rollout, rows) => values.flatMap((row, i) => (rollout.trained[rows[i]] ? row : []));
