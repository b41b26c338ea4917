import { describe, expect, it } from 'vitest';
import { resolveOperator } from './dispatch.js';
import './index.js';
import { operators } from './ops/list.js';
import { parseSchema, schemaProblems } from './schema.js';

describe('parseSchema', () => {
  it('reads names, types, keywords and defaults', () => {
    const schema =
      'aten::f.x(Tensor(a -> *) self, int[2] size=[0, 1], *, str mode="none", Tensor? y) -> (Tensor values, Tensor)';
    expect(parseSchema(schema)).toEqual([
      { name: 'self', type: 'Tensor', keywordOnly: false, optional: false },
      { name: 'size', type: 'int[2]', keywordOnly: false, optional: true },
      { name: 'mode', type: 'str', keywordOnly: true, optional: true },
      { name: 'y', type: 'Tensor?', keywordOnly: true, optional: true },
    ]);
    expect(parseSchema('aten::f() -> ()')).toEqual([]);
  });

  it('agrees with libtorch on every typed operator', () => {
    for (const [name] of Object.values(operators)) {
      const found = resolveOperator(name);
      if (!found) continue; // has a stand-in
      const shown = found.arguments.map(({ name, keywordOnly }) => ({ name, keywordOnly }));
      expect(parseSchema(found.schema).map(({ name, keywordOnly }) => ({ name, keywordOnly }))).toEqual(
        shown,
      );
    }
  });
});

describe('schemaProblems', () => {
  const problems = (expected: string, schema: string) =>
    schemaProblems(`aten::f(${expected}) -> Tensor`, { schema: `aten::f(${schema}) -> Tensor` });

  it('accepts what calls written for the other schema work with', () => {
    expect(problems('Tensor(a!) self, SymInt dim', 'Tensor self, int dim')).toEqual([]);
    expect(problems('Tensor self, int n', 'Tensor self, int? n')).toEqual([]);
    expect(problems('Tensor self, *, int n=1', 'Tensor self, int n=1')).toEqual([]);
    expect(problems('Tensor self', 'Tensor self, *, Scalar alpha=1')).toEqual([]);
    expect(problems('Tensor self, ScalarType? dtype=None', 'Tensor self')).toEqual([]);
  });

  it('names what they would not work with', () => {
    expect(problems('Tensor self, int dim', 'Tensor self')).toEqual(["has no argument 'dim'"]);
    expect(problems('Tensor self, int dim', 'Tensor self, int n=0, int dim=0')).toEqual([
      "takes argument 'dim' at place 3, not 2",
    ]);
    expect(problems('Tensor self, int n', 'Tensor self, Tensor n')).toEqual([
      "takes argument 'n' as Tensor, not int",
    ]);
    expect(problems('Tensor self', 'Tensor self, int n')).toEqual([
      "needs an argument 'n' that is not known here",
    ]);
  });
});
