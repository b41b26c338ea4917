import { empty, Generator, grad, ones, scaledDotProductAttention, type Tensor, tidy } from '@grpo/torch';
import { expect, it } from 'vitest';
import { attended, attendedSlopes, queriesAtOnce } from './plain-attention.js';
import { layerTensors } from './plain-layer.js';
import { fixtureModel } from './plain-model.test.helper.js';

/** More tokens than are attended to at once by four heads. */
const LENGTH = 2100;

/** The output of libtorch's own kernel, and the slopes of its inputs. */
function expected(heads: readonly Tensor[], slopes: Tensor, scale: number, sees: Tensor): Tensor[] {
  const leaves = heads.map((x) => x.detach());
  for (const leaf of leaves) leaf.requiresGrad = true;
  const [q, k, v] = leaves.map((x) => x.unsqueeze(0)) as [Tensor, Tensor, Tensor];
  const mixed = scaledDotProductAttention(q, k, v, sees, 0, false, { scale, enable_gqa: true });
  const out = mixed.squeeze(0).transpose(0, 1).reshape([LENGTH, -1]);
  return [out.detach(), ...grad([out], leaves, [slopes]).map((one) => one!)];
}

const furthest = (ours: Tensor, theirs: Tensor): number => ours.sub(theirs).abs().amax([]).item();

it.each([
  ['llama3', Infinity],
  ['llama3', 700],
  ['llada', Infinity],
] as const)('some queries at a time, %s attends as libtorch does, %d places back', (name, window) => {
  tidy(() => {
    const tensors = layerTensors(fixtureModel(name), 0);
    const { heads: count, keyHeads, headDim, bothWays, scoreScale } = tensors.shape;
    expect(queriesAtOnce(count, LENGTH)).toBeLessThan(LENGTH);
    const generator = new Generator(1);
    const made = (...shape: number[]) => empty(shape).normal_(0, 1, { generator });
    const ofHeads = (rows: number) => made(rows, LENGTH, headDim);
    const heads = [ofHeads(count), ofHeads(keyHeads), ofHeads(keyHeads)] as const;
    const slopes = made(LENGTH, count * headDim);
    const all = ones([LENGTH, LENGTH], { dtype: 'bool' });
    const far = window < LENGTH ? all.tril(-window) : all.logicalNot();
    const sees = bothWays ? all : all.tril().logicalAnd(far.logicalNot());
    const theirs = expected(heads, slopes, scoreScale, sees);
    const ours = [attended(tensors, heads, window), ...attendedSlopes(tensors, heads, window, slopes)];
    for (const [i, one] of ours.entries()) expect(furthest(one, theirs[i]!)).toBeLessThan(2e-5);
  });
});

it('takes all queries of a short sequence at once, and one of the longest at least', () => {
  expect(queriesAtOnce(16, 1024)).toBe(1024);
  expect(queriesAtOnce(16, 2048)).toBe(512);
  expect(queriesAtOnce(64, 1e6)).toBe(1);
});
