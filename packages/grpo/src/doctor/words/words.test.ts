import { expect, it } from 'vitest';
import { registry } from '../registry.js';
import { worded } from './index.js';

it('are there for every check, and for no other', () => {
  expect([...worded].sort()).toEqual(registry.map(({ code }) => code).sort());
});
