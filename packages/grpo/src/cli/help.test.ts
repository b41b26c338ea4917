import { describe, expect, it } from 'vitest';
import { readsKey } from '../config/command-keys.js';
import { keys } from '../config/keys.js';
import type { CommandInfo } from './command.js';
import { commandHelp, overview } from './help.js';
import { commands } from './table.js';

function info(name: string): CommandInfo {
  return commands.find((candidate) => candidate.name === name)!;
}

describe('help', () => {
  it.each(commands.map((command) => [command.name, command] as const))(
    'of %s has its flags and exactly its keys, and fits 100 columns',
    (_, command) => {
      const brief = commandHelp(command);
      const text = commandHelp(command, [], ['all']);
      for (const line of [...brief.split('\n'), ...text.split('\n')])
        expect(line.length, line).toBeLessThanOrEqual(100);
      expect(brief.split('\n').length).toBeLessThan(130);
      for (const flag of ['help', ...Object.keys(command.flags)]) expect(brief).toContain(`\n  --${flag}`);
      const listed = [...text.matchAll(/^ {2}([\w.]+)(=\S*)?( |$)/gm)].map((match) => match[1]);
      const expected = keys.filter((key) => command.keys && readsKey(command.keys, key.path));
      expect(listed).toEqual(expected.map((key) => key.path));
    },
  );

  it('leaves no key of the schema out', () => {
    const all = commands.map((one) => commandHelp(one, [], ['all'])).join('\n');
    for (const key of keys)
      expect(all, key.path).toMatch(new RegExp(`^ {2}${key.path.replace('.', '\\.')}[= ]`, 'm'));
  });

  it('shows defaults, help and types from the schema', () => {
    const text = commandHelp(info('train'), [], ['all']);
    expect(text.slice(text.indexOf('\ncheckpoint\n'))).toMatchInlineSnapshot(`
      "
      checkpoint
        checkpoint.every=0              Steps between checkpoints, beside those of checkpoint.minutes: 0 =
                                        only these [whole number >= 0]
        checkpoint.minutes=10           Minutes between checkpoints, each after a whole step: a crash
                                        loses at most this much; 0 = never by time [number >= 0]
        checkpoint.keep=2               Newest checkpoints kept on disk, beside one that an error left;
                                        older ones are deleted [whole number >= 1]

      record
        record.every=0                  Steps between full records of a step, beside those of the first
                                        two and of steps with a new finding: 0 = only those [whole number
                                        >= 0]

      doctor
        doctor.every=50                 Steps between audits, which compute a few completions again by an
                                        independent plain path, beside those of the first two steps, after
                                        a resume and before a checkpoint, if it is by the clock only while
                                        they take a tenth of the time: 0 = no audits [whole number >= 0]
        doctor.onFinding=warn           Every step is checked. warn = a failed check of a step stops the
                                        run in the first two steps and where the step before failed it
                                        too, a failed audit at any step, and other findings are reported;
                                        stop = every failure stops it; off = no checks; or rules such as
                                        [{finding: warn, to: 10, do: stop}]: the first that holds of
                                        finding and step counts [warn | stop | off | a list of {finding,
                                        from, to, do}]
      "
    `);
    expect(text).toContain('optimizer.learningRate=1e-6 ');
    expect(text).toContain('eval.before=true ');
    expect(text).toMatch(/ {2}task\.data {2,}File of problems/);
  });

  it('names every section and its keys, and shows in full what is asked for', () => {
    const brief = commandHelp(info('train'));
    expect(brief).toMatch(/^ {2}checkpoint\. +every, minutes, keep$/m);
    expect(brief).not.toContain('checkpoint.every');
    const one = commandHelp(info('train'), [], ['checkpoint', 'record.every']);
    expect(one).toMatch(/^checkpoint\n {2}checkpoint\.every=0 /);
    expect(one).toContain('\n\nrecord\n  record.every=0 ');
    expect(one).not.toContain('doctor');
    expect(commandHelp(info('train'), [], ['general'])).toContain('seed=0');
  });

  it('names the nearest of a topic that is none', () => {
    const of = (topic: string) => () => commandHelp(info('train'), [], [topic]);
    expect(of('rolout')).toThrow('grpo train has no settings rolout. The nearest are rollout.');
    expect(of('num_generations')).toThrow('The nearest are rollout.group.');
  });

  it('lists the commands', () => {
    const text = overview(commands);
    for (const { name, summary } of commands)
      expect(text).toContain(`  ${name.padEnd(16)}${summary.slice(0, 60)}`);
  });
});
