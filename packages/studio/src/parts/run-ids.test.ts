import { expect, it } from 'vitest';
import { joinIds, splitIds } from './run-ids.js';

it('keeps ids apart, whatever they are made of', () => {
  for (const ids of [[], ['/a'], ['/runs/a,b', '/c#2'], ['/50%', '/%2C', '/%252C,']])
    expect(splitIds(joinIds(ids))).toEqual(ids);
  expect(splitIds(undefined)).toEqual([]);
});
