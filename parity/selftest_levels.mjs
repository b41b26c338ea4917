// `grpo doctor --selftest` at each level of CPU instructions, all that this processor has or those named: prints the
// faults that were not named and the clean runs that alarmed. Exit code 1 when there are any.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cpuLevels } from '../packages/torch/dist/index.js';
import { atLevel } from '../packages/torch/dist/levels.test.helper.js';

const { names, highest } = cpuLevels();
const present = names.slice(0, names.indexOf(highest) + 1);
const levels = process.argv.length > 2 ? process.argv.slice(2) : present;
for (const level of levels) {
  if (present.includes(level)) continue;
  console.error(`This processor has no level ${level}; it has ${present.join(', ')}.`);
  process.exit(2);
}

const grpo = fileURLToPath(new URL('../packages/grpo/bin/grpo.js', import.meta.url));
for (const level of levels) {
  console.log(`At level ${level}: about two minutes.`);
  const { stdout, stderr, status } = spawnSync(process.execPath, [grpo, 'doctor', '--selftest', '--json'], {
    encoding: 'utf8',
    env: { ...process.env, ...atLevel(level) },
  });
  if (status !== 0) process.exitCode = 1;
  process.stderr.write(stderr);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { faults, variants, named, cleanSteps, falseFailures, falseWarnings } = lines.pop();
  for (const { code, variant, found, named, run, alarms = [] } of lines) {
    if (named === false)
      console.log(`  not named: ${code} ${variant}: ${found.map((one) => one.code).join(' ')}`);
    for (const alarm of alarms.filter(({ explained }) => !explained))
      console.log(`  false: ${run}: ${alarm.code}`);
  }
  console.log(
    `  ${named} of ${variants} variants of ${faults} faults named first; ${falseFailures} false failures and ${falseWarnings} false warnings in ${cleanSteps} clean steps.`,
  );
}
