import { describe, expect, it } from 'vitest';
import * as torch from './index.js';

describe('threads', () => {
  it('are set and read; wrong numbers are refused', () => {
    const before = torch.getThreads();
    torch.setThreads(1);
    expect(torch.getThreads()).toBe(1);
    torch.setThreads(before);
    for (const wrong of [0, -1, 1.5, Number.NaN, 1025, 2 ** 31]) {
      expect(() => torch.setThreads(wrong)).toThrow(/^threads must be a whole number/);
    }
  });
});

it('deterministic mode refuses an operator that has no such form', () => {
  const put = () =>
    torch.unsafe.call(
      'aten::put_',
      torch.zeros([2]),
      torch.tensor([0], [1], { dtype: 'int64' }),
      torch.ones([1]),
    );
  put();
  torch.setDeterministic(true);
  try {
    expect(put).toThrow(/deterministic/);
  } finally {
    torch.setDeterministic(false);
  }
  put();
});

it('says what libtorch it is', () => {
  expect(torch.torchVersion()).toMatch(/^\d+\.\d+/);
  expect(torch.buildConfiguration()).toContain('PyTorch built with');
  torch.synchronize();
});
