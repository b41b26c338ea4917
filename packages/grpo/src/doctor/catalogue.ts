/** The page that lists every check and every known fault: docs/doctor.md. */
import type { Check } from './check.js';
import { factsOf } from './facts.js';
import { faultOf } from './finding.js';
import { faultBy, faults, registry } from './registry.js';
import { addressOf, type Source } from './source.js';

const LEVELS: Readonly<Record<number, string>> = {
  1: 'Template and settings',
  2: 'Tokens, masks and sampling',
  3: 'Log-probs: one token, one set of weights, one number',
  4: 'Rewards',
  5: 'Advantages',
  6: 'Loss and KL',
  7: 'The update',
  8: 'Trends, time and memory',
};

const INTRODUCTION = `# What the doctor checks

\`npx grpo doctor PATH\` examines step records ([step-record.md](step-record.md)) and logs. This page is made from the
checks themselves: \`npm run docs:doctor\`.

- An **identity** holds in every correct implementation. Only an identity may fail.
- A **heuristic** depends on task, model and phase. It warns or informs, and says what would settle it.
- A check that lacks an input is **not applicable**, and says what is missing. It never passes.

Checks run in the order of the sections below. The report leads with the earliest failure, or with the finding that is
known to cause it. Later findings may be consequences of it, and are marked as such.

**Source** is where the fault, or the definition that the test follows from, can be read: an issue, a file at a commit, a
paper, or a measurement of this repository. A few faults were seen only in runs that are not public.

**Proved with** says on which data a check found its fault: \`native\`, a run of our own trainer with the
fault in it; \`TRL run\`, a real run of TRL with the fault in it; \`PyTorch loop\`, one of a trainer in plain PyTorch;
\`log only\`, a log in the form that the faulty trainer writes, with numbers made for the test; \`not yet\`, and then the
check warns at most. Every check is tested on correct records, and on correct records into which the fault was written.

A log in the folder of step records is read with them: the trainer's state of transformers, or the one file with metrics.
Without one the records make a log, of rewards, lengths, entropy, gradient norm and learning rate.

A log is judged by its own course: the levels of a metric in the first and the last eighth of the run and between its
changes, held to its noise. Of fewer than eight entries no noise is known: they are judged by what is exactly 0 or one value
throughout, by sizes that no healthy run has, and, as those of up to 15, by changes that no noise of an entry makes: between values
that all lie apart, or in equal order. The report shows which value lies beyond both ends. A change has
no date where the last entry alone shows it, and is told as one that came little by little where a straight line over the steps
fits it clearly better than two levels. The exit code is 0 where nothing was found, 1 with a finding that warns or fails (\`--fail-on
fail\`: only with one that fails) and for a run that an error ended, 2 where nothing can be read or judged, and 4 where there is too little to judge: a log of
fewer than 100 steps in which nothing was found and the reward does not visibly rise over 16 entries.

Checks call metrics as TRL does; the report says which column it took for which, and which no check reads. A column under
another name is told with \`--metric NAME=COLUMN\`, as often as needed: \`--metric reward=score --metric eval_reward=exam\`.
A reward function's is \`rewards/NAME/mean\`.
`;

/** The whole page, ending in a newline. */
export function cataloguePage(): string {
  const sections = Object.entries(LEVELS).map(([level, title]) => {
    const checks = registry.filter((check) => check.level === Number(level));
    return `## ${level}. ${title}\n\n${checks.map(entry).join('\n')}`;
  });
  return `${INTRODUCTION}\n${sections.join('\n')}\n${faultTable()}`;
}

function entry(check: Check): string {
  const rows = factsOf(check, { input: (name) => `\`${name}\``, source: linkOf });
  const { name } = faultBy(faultOf(check.code));
  return `### ${check.code}\n\n**${check.title}.** (${name})\n\n${rows.map(([label, text]) => `- ${label}: ${text}`).join('\n')}\n`;
}

/** A source as a link; files of this repository are seen from docs/. */
function linkOf(source: Source): string {
  const address = addressOf(source)!;
  return `[${source}](${address.startsWith('https:') ? address : `../${address}`})`;
}

/** Every known fault, with the checks that serve it. */
function faultTable(): string {
  const rows = faults.map(({ code: fault, name, title, left, checks }) => {
    const codes = checks.map(({ code }) => `\`${code}\``);
    const place = left && `also to check: ${left}`;
    return `| ${fault} | ${name} | ${title} | ${[codes.join(', '), place].filter(Boolean).join('; ')} |`;
  });
  return `## Known faults

Some faults show only in the configuration before the run (pre-flight) or in the live model; the last column says so.

| fault | name | what is wrong | checks |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}
