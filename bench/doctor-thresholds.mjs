// What the doctor's checks measure, on runs of the lab.
//   node bench/doctor-thresholds.mjs measure 0-4        numbers of clean steps, check by check: where thresholds come from
//   node bench/doctor-thresholds.mjs report 100-199 10  false alarms on other seeds; faults on every 10th of them
import { registry } from '../packages/grpo/dist/doctor/registry.js';
import { cleanRuns } from '../packages/grpo/dist/lab/clean-runs.js';
import { faults } from '../packages/grpo/dist/lab/faults/index.js';
import { labRun } from '../packages/grpo/dist/lab/lab-run.js';
import { tryClean, tryFault } from '../packages/grpo/dist/lab/selftest.js';

const [what, range = '0-4', every = '10'] = process.argv.slice(2);
const [from, to] = range.split('-').map(Number);
const seeds = Array.from({ length: (to ?? from) - from + 1 }, (_, i) => from + i);

/** Smallest, middle, 99 % and largest of what each number of each check was, apart for the two precisions. */
async function measure() {
  const values = new Map();
  for (const seed of seeds) {
    for (const run of cleanRuns(seed)) {
      const { records } = await labRun(run);
      for (const record of records) {
        for (const check of registry.filter(({ scope }) => scope === 'step')) {
          const { measured = {} } = check.test(record);
          for (const [name, value] of Object.entries(measured)) {
            if (typeof value !== 'number') continue;
            const key = `${check.code} ${name} ${record.declared.dtype}`;
            values.set(key, [...(values.get(key) ?? []), value]);
          }
        }
      }
    }
  }
  console.log(
    'check, number and precision'.padEnd(50),
    ['least', 'middle', '99 %', 'most', 'steps'].map((text) => text.padStart(10)).join(' '),
  );
  for (const [key, list] of [...values].sort(([a], [b]) => a.localeCompare(b))) {
    const sorted = list.sort((a, b) => a - b);
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    const numbers = [at(0), at(0.5), at(0.99), at(1), sorted.length];
    console.log(key.padEnd(50), numbers.map((x) => String(Number(x.toPrecision(3))).padStart(10)).join(' '));
  }
}

/** How often faults are found and named, and what clean runs alarm. */
async function report() {
  const counts = { clean: 0, failures: 0, warnings: 0, runs: 0, detected: 0, named: 0 };
  for (const seed of seeds) {
    for (const run of cleanRuns(seed)) {
      const { steps, alarms } = await tryClean(run);
      counts.clean += steps;
      for (const { code, severity, steps: on, measured, explained } of alarms) {
        if (explained) continue;
        counts[severity === 'fail' ? 'failures' : 'warnings'] += on;
        console.log(
          `seed ${seed}, clean, ${run.name}: ${code} ${severity} on ${on} steps`,
          JSON.stringify(measured),
        );
      }
    }
    if ((seed - from) % Number(every) !== 0) continue;
    for (const fault of faults) {
      for (const variant of fault.variants) {
        const { detected, named, found } = await tryFault(fault, variant, seed);
        counts.runs++;
        counts.detected += detected;
        counts.named += named;
        if (!named)
          console.log(
            `seed ${seed}, ${fault.code}, ${variant.name}:`,
            found.map(({ code }) => code).join(' '),
          );
      }
    }
  }
  console.log(JSON.stringify(counts));
}

await (what === 'report' ? report() : measure());
