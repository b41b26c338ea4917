import { describe, expect, it } from 'vitest';
import { Abandoned, type StageProgress, Watch } from '../progress/watch.js';
import { grpoStep } from './grpo-step.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from './step.test.helper.js';

/** A step with a reference, in several micro-batches. */
function trainer(settings: readonly string[] = []) {
  const model = fixtureModel('llama3');
  const small = ['train.microBatchTokens=30', 'kl.beta=0.1', 'rollout.maxNewTokens=5', ...settings];
  return trainerOf(model, small, { score: spreadRewards }, model.decoder);
}

async function reportsOf(settings: readonly string[]) {
  const reports: StageProgress[] = [];
  const watch = new Watch({ progress: (now) => reports.push(now) });
  const watched = { ...trainer(settings), watch };
  await grpoStep(watched, PROBLEMS, 0, 0.01);
  return { reports, layers: watched.model.decoder.config.layers };
}

describe('a step', () => {
  it('tells of each of its stages, from nothing done to everything', async () => {
    const { reports, layers } = await reportsOf([]);
    const stages = reports.map(({ stage, unit }) => `${stage}: ${unit}`);
    expect([...new Set(stages)]).toEqual([
      'rollout: prompt tokens',
      'rollout: completions',
      'scoring: completions',
      'reference: completions',
      'training: completions',
    ]);
    const of = (name: string) => reports.filter((_, i) => stages[i] === name);
    expect(of('rollout: prompt tokens')).toHaveLength(layers);
    const rollout = of('rollout: completions');
    expect(rollout[0]).toMatchObject({ total: 16, tokens: 16 });
    expect(rollout.at(-1)).toMatchObject({ done: 16, share: 1 });
    for (const name of ['rollout', 'reference', 'training'].map((stage) => `${stage}: completions`)) {
      const shares = of(name).map(({ share }) => share!);
      expect(shares).toEqual([...shares].sort((a, b) => a - b));
      expect(shares.at(-1)).toBeGreaterThan(0.8);
    }
  });

  it.each(['none', 'layers'])(
    'tells of each layer of both passes with train.recompute=%s',
    async (recompute) => {
      const { reports, layers } = await reportsOf([`train.recompute=${recompute}`]);
      const training = reports.filter(({ stage }) => stage === 'training');
      const micros = new Set(training.map(({ done }) => done)).size;
      expect(micros).toBeGreaterThan(1);
      expect(training).toHaveLength(micros * (1 + 2 * layers));
    },
  );

  it.each(['rollout', 'scoring', 'reference', 'training'])('abandoned in %s changes nothing', async (at) => {
    const stop = new AbortController();
    let reports = 0;
    const observer = {
      progress({ stage }: StageProgress) {
        // In the middle of a pass, and for training in its backward part.
        if (stage === at && ++reports === (at === 'training' ? 4 : 1)) stop.abort();
      },
    };
    const watched = { ...trainer(), watch: new Watch(observer, stop.signal) };
    const { optimizer, model } = watched;
    const weights = () => [...model.decoder.parameters.values()].map((tensor) => tensor.toNumbers());
    const before = weights();
    await expect(grpoStep(watched, PROBLEMS, 0, 0.01)).rejects.toThrow(Abandoned);
    expect(weights()).toEqual(before);
    expect(optimizer.gradients.size).toBe(0);
    expect([...model.decoder.parameters.values()].every(({ grad }) => grad === null)).toBe(true);
  });
});
