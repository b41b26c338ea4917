/** Our verdicts of pairs for math_graders.py, a JSON object a line. Needs a build. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { assignmentEqual } from '../packages/grpo/dist/rewards/math/assignment-equal.js';
import { mathEqual } from '../packages/grpo/dist/rewards/math/math-equal.js';

/** How a model may write a number, right and wrong. */
const variants = (gold, i) => {
  const number = Number(gold.replaceAll(',', ''));
  const all = [
    gold,
    String(number),
    `$${number}$`,
    `\\$${number}`,
    `${number}.00`,
    `${number.toLocaleString('en-US')}`,
    `\\frac{${2 * number}}{2}`,
    `${number}\\%`,
    `${number} dollars`,
    `x = ${number}`,
    `\\text{${number}}`,
    `${number + 1}`,
    `${number}0`,
    `-${number}`,
    `${number}, ${number + 1}`,
    `about ${number}`,
    `${number / 2} + ${number / 2}`,
    `${number} \\text{ hours}`,
  ];
  return i === undefined ? all : [all[i % all.length]];
};

function pairsOf(path) {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('# '));
  if (!path.endsWith('.jsonl')) return lines.map((line) => line.split('\t'));
  return lines.flatMap((line, i) => {
    const gold = JSON.parse(line).answer.split('####').at(-1).trim();
    return variants(gold, i).map((answer) => [answer, gold]);
  });
}

for (const path of process.argv.slice(2))
  for (const [answer, gold] of pairsOf(path)) {
    const [math, fast] = [mathEqual(answer, gold), assignmentEqual(answer, gold, true)];
    const row = { source: basename(path), answer, gold, math: math.equal, fast: fast.equal };
    console.log(JSON.stringify({ ...row, mathRule: math.rule, fastRule: fast.rule }));
  }
