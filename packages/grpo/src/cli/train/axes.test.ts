import { describe, expect, it } from 'vitest';
import { armsOf, readAxes } from './axes.js';

describe('the axes of a sweep', () => {
  it('are all combinations, the last one fastest', () => {
    const axes = readAxes(['kl.beta=0,0.1', 'lora.targets=[q_proj, v_proj],[q_proj]'], ['seed=1']);
    expect(armsOf(axes).map(({ settings }) => settings)).toEqual([
      ['kl.beta=0', 'lora.targets=[q_proj, v_proj]'],
      ['kl.beta=0', 'lora.targets=[q_proj]'],
      ['kl.beta=0.1', 'lora.targets=[q_proj, v_proj]'],
      ['kl.beta=0.1', 'lora.targets=[q_proj]'],
    ]);
  });

  it.each([
    ['kl.beta', /takes a setting with its values/],
    ['kl.beta=0,', /has a value that is empty/],
    ['kl.beta=0.1, 0.1', /has a value twice/],
    ['seed=1,2', /seed is given as a setting and to --sweep/],
    ['output=a,b', /cannot vary output/],
  ])('%s is refused', (text, message) => {
    expect(() => readAxes([text], ['seed=3'])).toThrow(message);
  });

  it('are refused twice, and as too many arms', () => {
    expect(() => readAxes(['kl.beta=0', 'kl.beta=1'], [])).toThrow(/given twice/);
    const wide = Array.from({ length: 9 }, (_, i) => i + 1).join(',');
    expect(() => armsOf(readAxes([`rollout.prompts=${wide}`, `rollout.group=${wide}`], []))).toThrow(
      /81 arms/,
    );
  });
});
