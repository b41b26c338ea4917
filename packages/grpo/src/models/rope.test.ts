import { inferenceMode, memory, noGrad, rotate, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { DEVICE, tensor } from '../device.test.helper.js';
import type { RopeConfig, RopeScaling } from './config.js';
import { Rope, rotaryFrequencies } from './rope.js';

const config = (dims: number, theta: number, scaling?: RopeScaling): RopeConfig => ({
  dims,
  theta,
  ...(scaling && { scaling }),
});

const llama3 = (factor: number, originalPositions: number): RopeScaling => ({
  type: 'llama3',
  factor,
  lowFreqFactor: 1,
  highFreqFactor: 4,
  originalPositions,
});

describe('rotary frequencies', () => {
  // ROPE_INIT_FUNCTIONS of transformers 5.18, in float32.
  it.each([
    [
      'Llama 3.2 1B',
      config(64, 500000, llama3(32, 8192)),
      [
        1.0, 0.663601279, 0.440366626, 0.292227834, 0.193922758, 0.128687382, 0.0853971019, 0.0566696189,
        0.0376060307, 0.0249554086, 0.0165604409, 0.0109895291, 0.00729266508, 0.00483942125, 0.00321144611,
        0.00129054801, 0.000429556705, 9.70828623e-5, 1.94616387e-5, 1.29147675e-5, 8.57025589e-6,
        5.68723226e-6, 3.77405445e-6, 2.50446715e-6, 1.66196742e-6, 1.10288363e-6, 7.31874934e-7,
        4.85673127e-7, 3.22293289e-7, 2.1387423e-7, 1.41927202e-7, 9.41830649e-8,
      ],
    ],
    [
      'the fixture llama3',
      config(16, 500000, llama3(8, 64)),
      [
        1.0, 0.079403013, 0.00470075384, 0.000911583134, 0.000176776681, 3.42810235e-5, 6.64786967e-6,
        1.28917316e-6,
      ],
    ],
    [
      'linear scaling by 4',
      config(16, 10000, { type: 'linear', factor: 4 }),
      [
        0.25, 0.079056941, 0.0250000004, 0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012,
        7.90569466e-5,
      ],
    ],
  ])('are those of transformers: %s', (_, shape, expected) => {
    const ours = rotaryFrequencies(shape);
    expect(ours.length).toBe(expected.length);
    for (const [i, frequency] of ours.entries()) {
      expect(Math.abs(frequency / expected[i]! - 1), `pair ${i}`).toBeLessThan(1e-6);
    }
  });
});

describe('Rope', () => {
  it('rotates pairs by position × frequency', () => {
    tidy(() => {
      const rope = new Rope(config(4, 100), 'float32', DEVICE);
      for (const position of [3, 1000, 70]) {
        const rotation = rope.at(tensor([position], undefined, { dtype: 'int64' }));
        const turned = rotate(tensor([1, 2, 3, 4], [1, 1, 4]), rotation.cos, rotation.sin).toNumbers();
        const [a, b] = [position, position / 10];
        const expected = [
          Math.cos(a) - 3 * Math.sin(a),
          2 * Math.cos(b) - 4 * Math.sin(b),
          3 * Math.cos(a) + Math.sin(a),
          4 * Math.cos(b) + 2 * Math.sin(b),
        ];
        for (const [i, x] of turned.entries()) expect(Math.abs(x - expected[i]!)).toBeLessThan(2e-4);
      }
      rope.dispose();
    });
  });

  it('takes as much memory after a long sequence as after a short one', () => {
    const rope = new Rope(config(4, 100), 'float32', DEVICE);
    const after = (position: number) => {
      tidy(() => void rope.at(tensor([position], undefined, { dtype: 'int64' })));
      return memory();
    };
    expect(after(100_000)).toEqual(after(3));
    rope.dispose();
  });

  it('serves training after a rollout', () => {
    const rope = new Rope(config(4, 100), 'float32', DEVICE);
    tidy(() => {
      const positions = tensor([5], undefined, { dtype: 'int64' });
      inferenceMode(() => rope.at(positions));
      const x = tensor([1, 2, 3, 4], [1, 1, 4]);
      x.requiresGrad = true;
      const { cos, sin } = rope.at(positions);
      const turned = rotate(x, cos, sin);
      turned.mul(turned).sum().backward();
      // A rotation keeps the norm, so the gradient is that of |x|².
      for (const [i, g] of x.grad!.toNumbers().entries()) expect(g).toBeCloseTo(2 * (i + 1), 5);
    });
    noGrad(() => rope.dispose());
  });
});
