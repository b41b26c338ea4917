import { expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { Watch } from '../progress/watch.js';
import { each } from '../rewards/index.js';
import { plainSampling } from '../rollout/index.js';
import { tinyModel } from '../run/tiny-model.test.helper.js';
import type { Task } from '../tasks/task.js';
import { evaluateAudited } from './evaluate-audited.js';

const { config } = resolveConfig({
  command: 'eval',
  settings: ['task.name=arithmetic', 'model=m', 'eval.limit=4', 'rollout.maxNewTokens=6'],
});
const sampling = { ...plainSampling, maxNewTokens: 6 };
const problems = Array.from({ length: 4 }, (_, i) => ({ prompt: `${i}+1=`, row: { i } }));
const task: Task<{ i: number }> = {
  name: 'stub',
  // Nothing is trained: problems that are in both are no leak.
  train: problems,
  eval: problems,
  rewards: [{ name: 'length', weight: 1, score: each((text) => text.length) }],
  isCorrect: (text, { i }) => (text.length + i) % 2 === 0,
  stop: [],
};

it('finds nothing in an evaluation that holds, and says how much it compared', async () => {
  const model = await tinyModel();
  const { audit, problems: asked } = await evaluateAudited({ model, sampling }, task, config, new Watch());
  expect(asked).toBe(4);
  expect(audit).toMatchObject({ findings: [], missing: [] });
  expect(audit.compared).toBeGreaterThan(20);
});

it('tells completions that were decoded otherwise than the settings say', async () => {
  const model = await tinyModel();
  const sampler = { model, sampling: { ...sampling, repetitionPenalty: 3 } };
  const { audit } = await evaluateAudited(sampler, task, config, new Watch());
  const says = expect.stringContaining('distance in nats');
  expect(audit.findings).toEqual([{ code: 'H14.audit', severity: 'fail', says, remedy: expect.any(String) }]);
});

it('says what it could not compute again', async () => {
  const sampler = { model: await tinyModel(), sampling, auditLack: 'memory' };
  const { audit } = await evaluateAudited(sampler, task, config, new Watch());
  expect(audit).toMatchObject({ findings: [], missing: ['memory'] });
});
