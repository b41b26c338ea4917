import { readFileSync } from 'node:fs';
import { type Tensor, tensor, tidy, tokenScores } from '@grpo/torch';
import { describe, expect, it } from 'vitest';

type Matrix = number[][];
const path = new URL('../../../../parity/fixtures/distillation.json', import.meta.url);
const fixture = JSON.parse(readFileSync(path, 'utf8')) as Record<
  'studentHidden' | 'studentHead' | 'teacherHidden' | 'teacherHead',
  Matrix
> & {
  cases: {
    temperature: number;
    loss: number;
    kl: number[];
    hiddenGradient: Matrix;
    headGradient: Matrix;
  }[];
};

const matrix = (rows: Matrix): Tensor => tensor(rows.flat(), [rows.length, rows[0]!.length]);
const leaf = (rows: Matrix): Tensor => Object.assign(matrix(rows), { requiresGrad: true });

/** Within what sums of float32 leave of the largest value. */
function expectNear(found: Tensor, expected: readonly number[]): void {
  const bound = 1e-6 * Math.max(...expected.map(Math.abs));
  for (const [i, value] of found.toNumbers().entries())
    expect(Math.abs(value - expected[i]!), `${i}`).toBeLessThan(bound);
}

// The KL over the vocabulary is what preset=distill minimizes.
describe('the KL to a teacher of another width', () => {
  it.each(fixture.cases)("is TRL's GKD loss at beta = 1, temperature $temperature", (expected) => {
    tidy(() => {
      const [hidden, head] = [leaf(fixture.studentHidden), leaf(fixture.studentHead)];
      const targets = tensor(
        expected.kl.map(() => 0),
        undefined,
        { dtype: 'int64' },
      );
      const [, , kl_T] = tokenScores(
        hidden,
        head,
        targets,
        matrix(fixture.teacherHidden),
        matrix(fixture.teacherHead),
        { temperature: expected.temperature, chunk: 3 },
      );
      const loss = kl_T.mean();
      loss.backward();
      expectNear(kl_T, expected.kl);
      expectNear(loss, [expected.loss]);
      expectNear(hidden.grad!, expected.hiddenGradient.flat());
      expectNear(head.grad!, expected.headGradient.flat());
    });
  });
});
