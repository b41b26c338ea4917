import { describe, expect, it } from 'vitest';
import { LOSS_NAMES, type LossName } from '../../config/loss-names.js';
import { resolveConfig } from '../../config/resolve.js';
import { explain } from './explained.js';
import { formulaOf } from './formula.js';

const formula = (...settings: string[]) =>
  formulaOf(resolveConfig({ command: 'explain', settings, env: {} }).config);

const meaning = (symbol: string, ...settings: string[]) =>
  formula(...settings).where.find((one) => one.symbol === symbol)?.text;

const CLIP = '−min(rᵢₜ Aᵢ, clip(rᵢₜ, 0.8, 1.2) Aᵢ)';
const MEAN = '1/N Σᵢ 1/|oᵢ| Σₜ';

/** Objectives as the papers print them, with their signs turned to losses. */
const losses: Record<LossName, string> = {
  grpo: `${MEAN} ${CLIP}`,
  dapo: `1/T Σᵢ Σₜ ${CLIP}`,
  bnpo: `Σₘ Nₘ/N 1/Tₘ Σᵢ Σₜ ${CLIP}`,
  dr_grpo: `1/N Σᵢ 1/256 Σₜ ${CLIP}`,
  cispo: '1/T Σᵢ Σₜ −sg(min(rᵢₜ, 5)) Aᵢ log π(oᵢₜ)',
  sapo: `${MEAN} −4/τᵢ σ(τᵢ (rᵢₜ − 1)) Aᵢ`,
  vespo: '1/T Σᵢ Σₜ −sg(φᵢ) Aᵢ log π(oᵢₜ)',
  luspo: '1/N Σᵢ Σₜ −min(rᵢ Aᵢ, clip(rᵢ, 0.8, 1.2) Aᵢ)',
  gspo: `${MEAN} −min(rᵢ Aᵢ, clip(rᵢ, 0.8, 1.2) Aᵢ)`,
  gspo_token: `${MEAN} ${CLIP}`,
  gmpo: `${MEAN} −exp(1/|oᵢ| Σₛ dᵢₛ) Aᵢ`,
  dppo_tv: '1/T Σᵢ Σₜ −uᵢₜ sg(min(rᵢₜ, 20)) Aᵢ log π(oᵢₜ)',
  dppo_kl: '1/T Σᵢ Σₜ −uᵢₜ sg(min(rᵢₜ, 20)) Aᵢ log π(oᵢₜ)',
  no_baseline: `${MEAN} −Aᵢ log π(oᵢₜ)`,
  reinforce_with_baseline: `${MEAN} −Aᵢ log π(oᵢₜ)`,
  grpo_clip: `${MEAN} ${CLIP}`,
  reinforce_sum: '1/N Σᵢ Σₜ −Aᵢ log π(oᵢₜ)',
};

describe('the formula', () => {
  it.each(LOSS_NAMES)('of %s', (name) => {
    expect(formula(`objective.loss=${name}`).loss).toEqual([losses[name]]);
  });

  it('has the parts that are switched on, and their factors', () => {
    const { loss, where } = formula(
      ...['objective.delta=4', 'entropy.topShare=0.2', 'entropy.coefficient=0.01', 'correction.level=token'],
      ...['correction.max=2', 'kl.beta=0.04', 'rollout.temperature=0.9'],
    );
    expect(loss).toEqual([
      '1/T Σᵢ Σₜ mᵢₜ cᵢₜ −min(min(rᵢₜ, 4) Aᵢ, clip(rᵢₜ, 0.8, 1.2) Aᵢ)',
      '+ β 1/T Σᵢ Σₜ Kᵢₜ',
      '− c H',
    ]);
    expect(Object.fromEntries(where.map(({ symbol, text }) => [symbol, text]))).toMatchObject({
      mᵢₜ: '1 where the token is among the 20 % of highest entropy of its micro-batch; else 0',
      cᵢₜ: 'π_old(oᵢₜ) / π_sampler(oᵢₜ) bounded to 0 … 2',
      Kᵢₜ: expect.stringContaining('exp(d) − d − 1 (k3)'),
      β: '0.04',
      H: 'mean entropy of π over those tokens, in nats',
      π: 'softmax(logits / 0.9), the policy; sg() takes no gradient',
    });
  });

  it('is the KL alone where rewards have no weight', () => {
    const alone = formula('preset=distill', 'teacher.model=T');
    expect(alone.loss).toEqual(['β 1/T Σᵢ Σₜ Kᵢₜ']);
    expect(alone.where.map(({ symbol }) => symbol)).toEqual(['N', '|oᵢ|', 'Kᵢₜ', 'β', 'π']);
    const corrected = formula(
      'preset=distill',
      'teacher.model=T',
      'kl.estimator=k2',
      'kl.biasCorrected=true',
    );
    expect(corrected.where.map(({ symbol }) => symbol)).toContain('π_old');
    expect(formula('preset=distill', 'teacher.model=T', 'advantage.weight=1').loss).toHaveLength(2);
  });

  it.each([
    [['level=token', 'max=2'], 'cᵢₜ', 'π_old(oᵢₜ) / π_sampler(oᵢₜ) bounded to 0 … 2'],
    [
      ['level=sequence', 'action=mask', 'min=0.5', 'max=2'],
      'cᵢ',
      'Πₜ π_old(oᵢₜ) / π_sampler(oᵢₜ), 0 outside of 0.5 … 2',
    ],
    [
      ['level=sequence_mean', 'measure=k3', 'action=reject', 'max=0.005'],
      'cᵢ',
      '1 where the mean over oᵢ of q − 1 − log q, q = π_old(oᵢₜ) / π_sampler(oᵢₜ), is at most 0.005, else 0',
    ],
    [
      ['level=token', 'measure=probability', 'action=mask', 'max=0.3'],
      'cᵢₜ',
      'π_old(oᵢₜ) / π_sampler(oᵢₜ) where |π_old(oᵢₜ) − π_sampler(oᵢₜ)| is at most 0.3, else 0',
    ],
    [
      ['level=sequence_max', 'action=mask', 'max=2'],
      'cᵢₜ',
      'π_old(oᵢₜ) / π_sampler(oᵢₜ) where the largest π_old(oᵢₜ) / π_sampler(oᵢₜ) of oᵢ is within 0 … 2, else 0',
    ],
  ])('says how tokens are weighed by %s', (settings, symbol, text) => {
    expect(meaning(symbol, ...settings.map((setting) => `correction.${setting}`))).toBe(text);
  });

  it('explains every symbol that it has', () => {
    for (const name of LOSS_NAMES) {
      const { loss, where } = formula(`objective.loss=${name}`, 'kl.beta=0.1', 'entropy.coefficient=1');
      const symbols = new Set(where.map(({ symbol }) => symbol));
      const used = loss.join(' ').match(/[ACHKNTcdmruβτφ](ᵢₜ|ᵢₛ|ᵢ|ₘ)?|\|oᵢ\|/gu) ?? [];
      // Words, and symbols that a line of their own explains.
      const explained = used.filter(
        (symbol) => !/^[cdmru]$/.test(symbol) && !['T', 'Nₘ', 'Tₘ'].includes(symbol),
      );
      expect(
        explained.filter((symbol) => !symbols.has(symbol)),
        `${name}: ${loss.join(' ')}`,
      ).toEqual([]);
    }
  });

  it('says how the log-probs of a masked-diffusion model are estimated', () => {
    const estimate = (preset: string) =>
      explain({ preset }).formula.where.find(({ symbol }) => symbol === 'log π')?.text;
    expect(estimate('diffu-grpo')).toMatch(/^of each token with all of oᵢ hidden, and 15 % of the prompt\. /);
    expect(estimate('coupled-grpo')).toMatch(
      /half with a share t of oᵢ, drawn from 0\.2 … 0\.8, or with the rest/,
    );
    expect(estimate('seed-003')).toMatch(/^of the tokens that are hidden, the share 1 of oᵢ; /);
    expect(estimate('dapo')).toBeUndefined();
  });

  it('puts a KL in the reward there', () => {
    const rloo = formula('preset=rloo');
    expect(rloo.loss).toEqual(['1/N Σᵢ Σₜ −Aᵢ log π(oᵢₜ)']);
    expect(meaning('Rᵢ', 'preset=rloo')).toBe('weighted sum of the rewards of oᵢ − β Kᵢ');
    expect(meaning('Aᵢ', 'preset=rloo')).toMatch(/^Rᵢ − mean R of the others of its group; 0 for/);
    expect(meaning('Kᵢ', 'preset=rloo')).toMatch(/^−d \(k1\), d = Σₜ /);
  });

  it.each([
    [[], '(Rᵢ − mean R of its group) / (std R of its group + 0.0001); 0 for a group of equal rewards'],
    [
      ['advantage.scale=none', 'advantage.whiten=true'],
      'Rᵢ − mean R of its group; 0 for a group of equal rewards; then standardized over the batch',
    ],
    [
      ['advantage.ddof=0', 'advantage.epsilon=0', 'advantage.clip=2'],
      '(Rᵢ − mean R of its group) / (std R of its group (by n)); 0 for a group of equal rewards; then bounded to ± 2',
    ],
    [
      ['advantage.scale=batch', 'advantage.flat=drop'],
      '(Rᵢ − mean R of its group) / (std R of the batch + 0.0001); a group of equal rewards is left out',
    ],
    [
      ['advantage.scale=mean'],
      '(Rᵢ − mean R of its group) / mean R of its group; 0 for a group of equal rewards',
    ],
    [['advantage.baseline=none', 'advantage.scale=none'], 'Rᵢ'],
    [
      ['advantage.combine=normalize_then_sum'],
      'Σₖ wₖ (Rᵢ − mean R of its group) / (std R of its group + 0.0001), R of reward k alone; then standardized over the batch; 0 for a group of equal rewards',
    ],
  ])('says how advantages are made of %s', (settings, text) => {
    expect(meaning('Aᵢ', ...settings)).toBe(text);
  });

  it('says how β moves', () => {
    const adaptive = ['kl.beta=0.1', 'kl.control=adaptive', 'kl.target=0.5', 'kl.warmupSteps=3'];
    expect(meaning('β', ...adaptive)).toBe(
      '0.1; × 1.1 or × 0.9 after a step where the KL is more than 5 % off 0.5, within 0 … ∞; rising from 0 over 3 steps',
    );
    expect(meaning('β', 'preset=grpo-dual')).toBe(
      '0.05; + 0.1 × (the median KL of 20 steps − 0.1) after each step, within 0.01 … ∞',
    );
  });
});
