import { type Tensor, tensor, zeros } from '@grpo/torch';

/** For each token the ids that it could have been drawn from; undefined for one drawn from the whole vocabulary. */
export type Support = readonly (ArrayLike<number> | undefined)[];

/** 1 where a token could have been drawn, `[tokens, width]`: of the ids from `start` on. */
export function insideOf(support: Support, start: number, width: number, device: string): Tensor {
  const places = support.flatMap((ids, row) =>
    Array.from(ids ?? { length: width }, (id, i) => (ids ? Number(id) - start : i)).flatMap((place) =>
      place >= 0 && place < width ? row * width + place : [],
    ),
  );
  const inside = zeros([support.length * width], { device });
  const index = tensor(places, undefined, { dtype: 'int64', device });
  const ones = tensor(new Float32Array(places.length).fill(1), undefined, { device });
  return inside.indexCopy_(0, index, ones).view([support.length, width]);
}
