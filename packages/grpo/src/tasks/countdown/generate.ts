/** Countdown problems with solutions, drawn from a seed. */
import { uniform } from '../../maths/random.js';
import { workOut } from './expression.js';
import type { CountdownRow } from './task.js';

/** Numbers of a problem, and their range: those of the public Countdown sets with three and four numbers. */
const COUNTS = [3, 4] as const;
const [SMALLEST, LARGEST] = [1, 99];
const MAX_TARGET = 999;
const OPERATORS = ['+', '-', '*', '/'] as const;

/** Row `index` of a seed, independent of other rows. The solution is one of perhaps many. */
export function countdownRow(seed: number, index: number): Required<CountdownRow> {
  for (let attempt = 0; ; attempt++) {
    let key = 0;
    const below = (count: number) => Math.floor(uniform(seed, index, attempt, key++) * count);
    const count = COUNTS[below(COUNTS.length)]!;
    const nums = Array.from({ length: count }, () => SMALLEST + below(LARGEST - SMALLEST + 1));
    const solution = draw(nums, below);
    const worked = workOut(solution);
    // Many expressions make a fraction, a negative number or one that nobody would ask for.
    if ('unreadable' in worked || worked.value.d !== 1n) continue;
    const target = Number(worked.value.n);
    if (target >= 1 && target <= MAX_TARGET) return { nums, target, solution };
  }
}

/** A random expression of all the numbers: two at a time become one. */
function draw(nums: readonly number[], below: (count: number) => number): string {
  const parts = nums.map(String);
  while (parts.length > 1) {
    const [a] = parts.splice(below(parts.length), 1);
    const [b] = parts.splice(below(parts.length), 1);
    const joined = `${a} ${OPERATORS[below(OPERATORS.length)]} ${b}`;
    parts.push(parts.length === 0 ? joined : `(${joined})`);
  }
  return parts[0]!;
}
