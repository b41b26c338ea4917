import { describe, expect, it } from 'vitest';
import { tensor } from '../../device.test.helper.js';
import type { LossInput } from '../loss-types.js';
import { TokenRows } from '../token-rows.js';
import { klMeans } from './kl-metrics.js';

const kl_T = tensor([1, 3, 5, 7, 7, 9], undefined, { dtype: 'float64' });
const rows = new TokenRows([2, 1, 2, 1], Uint8Array.from([1, 1, 1, 0, 1, 0]), kl_T);

const meansOf = (level: 'token' | 'sequence_mean', kinds?: readonly string[]) =>
  klMeans(kl_T, { settings: { kl: { level } }, kinds } as LossInput, rows);

describe('the mean KL', () => {
  it('is that of the trained tokens', () => {
    expect(meansOf('token')).toEqual({ kl: { sum: 16, of: 4 } });
  });

  it('is that of the completions with a trained token, where each has one value', () => {
    // The values of a completion are alike then; here the first trained one shows which is taken.
    expect(meansOf('sequence_mean')).toEqual({ kl: { sum: 1 + 5 + 7, of: 3 } });
  });

  it('is told of each kind besides', () => {
    expect(meansOf('token', ['f', 'h', 'f', 'h'])).toEqual({
      kl: { sum: 16, of: 4 },
      'kl/f': { sum: 11, of: 3 },
      'kl/h': { sum: 5, of: 1 },
    });
  });
});
