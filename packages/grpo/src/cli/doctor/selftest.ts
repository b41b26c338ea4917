import type { Measurements } from '../../doctor/outcome.js';
import { formatValue } from '../../doctor/sentence.js';
import { type CleanVerdict, type FaultVerdict, type SelftestSummary, selftest } from '../../lab/selftest.js';
import { colors } from '../colors.js';
import { EXIT } from '../command.js';

const CODE = 5;
const VARIANT = 50;

/**
 * `grpo doctor --selftest`: runs every fault that a run of ours can hold and every clean run, and shows what the doctor
 * found. Exit code 0 when each fault was named and no clean run alarmed, else 1.
 *
 * @param json - one JSON object per line: every fault, every clean run, and last the counts
 */
export async function runSelftest(json: boolean): Promise<number> {
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const jsonLine = (value: object) => say(JSON.stringify(value));
  if (!json) say('Faults, and what the doctor found: the cause first; ~ is a warning.\n');
  let last = '';
  let clean = 0;
  const summary = await selftest({
    onFault(verdict) {
      if (json) return jsonLine(verdict);
      if (verdict.code !== last) say(`${colors.bold(verdict.code)}  ${verdict.name}`);
      last = verdict.code;
      say(faultLine(verdict));
    },
    onClean(verdict) {
      if (json) return jsonLine(verdict);
      if (clean++ === 0) say('\nClean runs with findings:\n');
      for (const line of alarmLines(verdict)) say(line);
    },
  });
  if (json) jsonLine(summary);
  else say(`\n${summaryText(summary)}`);
  const good = summary.named === summary.variants && summary.falseFailures + summary.falseWarnings === 0;
  return good ? 0 : EXIT.error;
}

function faultLine({ variant, found, detected, named }: FaultVerdict): string {
  const mark = named ? colors.green('named') : detected ? colors.yellow('found') : colors.red('missed');
  const codes = found.map(({ code, severity }) => (severity === 'warn' ? `${code}~` : code));
  return `${' '.repeat(CODE)}${variant.padEnd(VARIANT)} ${mark}  ${codes.join(' ')}`;
}

function alarmLines({ run, alarms }: CleanVerdict): string[] {
  return alarms.map(({ code, severity, steps, measured, explained }) => {
    const mark = explained
      ? colors.cyan('true')
      : severity === 'fail'
        ? colors.red('FALSE')
        : colors.yellow('false');
    const why = explained ?? numbers(measured);
    return `${' '.repeat(CODE)}${run.padEnd(30)} ${mark}  ${code}${severity === 'warn' ? '~' : ''} on ${steps} steps: ${why}`;
  });
}

const numbers = (measured: Measurements) =>
  Object.entries(measured)
    .map(([name, value]) => `${name} ${formatValue(value)}`)
    .join(', ');

function summaryText({ faults, variants, detected, named, ...clean }: SelftestSummary): string {
  return [
    `${faults} faults in ${variants} variants: ${detected} detected, ${named} named first.`,
    `${clean.cleanSteps} clean steps: ${clean.falseFailures} false failures, ${clean.falseWarnings} false warnings.`,
  ].join('\n');
}
