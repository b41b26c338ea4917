import { describe, expect, it } from 'vitest';
import { parseLabelled } from './labelled-lines.js';

const parse = (text: string) => parseLabelled(text, ['Answer', 'Justification']);

describe('labelled lines', () => {
  it.each([
    ['Answer: B\nJustification: He said so.', 'B', 'He said so.'],
    ['\n answer :  b \n JUSTIFICATION: two\nlines \n', 'b', 'two\nlines'],
    ['**Answer:** B\n**Justification:** bold', 'B', 'bold'],
    ['- Answer: **B**\n- Justification: listed', 'B', 'listed'],
    ['Answer: B', 'B', ''],
    ['Answer: see Justification: here', 'see Justification: here', ''],
  ])('%j is read', (text, Answer, Justification) => {
    expect(parse(text)).toEqual({ values: { Answer, Justification }, problem: null });
  });

  it.each([
    ['', 'no Answer:'],
    ['B', 'no Answer:'],
    ['Justification: so', 'no Answer:'],
    ['Justification: so\nAnswer: B', 'text before Answer:'],
    ['Sure! Here it is.\nAnswer: B', 'text before Answer:'],
    ['Answer: A\nAnswer: B', '2 times Answer:'],
    ['Answer: A\nJustification: x\nJustification: y', '2 times Justification:'],
    ['Answer:\nJustification: x', 'nothing behind Answer:'],
    ['Answer: **\nJustification: x', 'nothing behind Answer:'],
  ])('%j is not: %s', (text, problem) => {
    expect(parse(text)).toEqual({ values: null, problem });
  });

  // Looking back at each sign would take hours. Compared as booleans: a failure would print the text.
  it.each([' ', '*', '\n', 'Answer', '*_ \t'])('of a million of %j are read', (unit) => {
    const text = unit.repeat(1_000_000);
    expect(parse(text).values === null).toBe(true);
    expect(parse(`Answer: x${text}y`).values?.Answer === `x${text}y`).toBe(true);
  });
});
