import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { assignmentEqual } from './assignment-equal.js';
import { mathEqual } from './math-equal.js';

interface Pair {
  answer: string;
  gold: string;
  math: { equal: boolean; rule: string };
  fast: { equal: boolean; rule: string };
}

const file = new URL('../../../../../parity/fixtures/math-pairs.tsv', import.meta.url);
const pairs: Pair[] = readFileSync(fileURLToPath(file), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [answer = '', gold = '', math, mathRule = '', fast, fastRule = ''] = line.split('\t');
    return {
      answer,
      gold,
      math: { equal: math === 'equal', rule: mathRule },
      fast: { equal: fast === 'equal', rule: fastRule },
    };
  });

describe('mathEqual and assignmentEqual', () => {
  it('have more than 400 graded pairs, of every verdict', () => {
    expect(pairs.length).toBeGreaterThan(400);
    for (const grader of ['math', 'fast'] as const)
      for (const equal of [true, false])
        expect(pairs.filter((pair) => pair[grader].equal === equal).length).toBeGreaterThan(100);
  });

  it.each(pairs)('grade $answer against $gold', ({ answer, gold, math, fast }) => {
    expect(mathEqual(answer, gold)).toEqual(math);
    expect(assignmentEqual(answer, gold, true)).toEqual(fast);
    // Without `fast` nothing that was right becomes wrong, and what mathEqual accepts is right too.
    expect(assignmentEqual(answer, gold, false).equal).toBe(math.equal || fast.equal);
  });

  it('give the same verdict the other way round, but for a choice with its text', () => {
    const turned = pairs.filter(
      ({ answer, gold, math }) =>
        math.rule !== 'same choice' && mathEqual(gold, answer).equal !== mathEqual(answer, gold).equal,
    );
    expect(turned).toEqual([]);
  });

  it('accept every gold as its own answer', () => {
    const lost = pairs.filter(
      ({ gold }) => gold !== '' && !mathEqual(`$${gold}$`, gold).equal && !gold.includes('$'),
    );
    expect(lost).toEqual([]);
  });
});
