import { describe, expect, it } from 'vitest';
import { grpoStep } from '../step/grpo-step.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import { MicroLog } from './micro-log.js';

async function linesOf(settings: string[], isMasked: boolean): Promise<string[]> {
  const model = fixtureModel('qwen2');
  if (isMasked) model.decoder.config.diffusion = { maskId: 258, shifted: false };
  const lines: string[] = [];
  const trainer = trainerOf(model, ['rollout.prompts=4', ...settings], { score: spreadRewards });
  await grpoStep({ ...trainer, observers: [new MicroLog((line) => lines.push(line))] }, PROBLEMS, 0, 1e-3);
  return lines.filter((line) => line.includes('Loss computed'));
}

describe('the line of a micro-batch', () => {
  it('counts the hidden tokens of a masked-diffusion model', async () => {
    const [d1] = await linesOf([], true);
    expect(d1).toMatch(/, masks_in_X=(\d+)\/\1 \(100\.0%\), pg_loss=/);
    const [half] = await linesOf(['diffusion.estimator=sum_masked'], true);
    const [hidden, tokens] = /masks_in_X=(\d+)\/(\d+)/.exec(half!)!.slice(1).map(Number);
    expect(hidden).toBeGreaterThan(0);
    expect(hidden).toBeLessThan(tokens!);
  });

  it('has no masks of a causal model', async () => {
    const [line] = await linesOf([], false);
    expect(line).toMatch(/s, pg_loss=/);
    expect(line).not.toContain('masks_in_X');
  });
});
