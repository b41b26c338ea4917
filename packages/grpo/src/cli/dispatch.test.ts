import { describe, expect, it } from 'vitest';
import { resolveConfig, UserError } from '../config/index.js';
import type { CommandArguments, CommandInfo } from './command.js';
import { dispatch } from './dispatch.js';

/** A command line's exit code and output, with a command `train` that does what `run` says. */
async function grpo(
  argv: string[],
  run: (args: CommandArguments) => Promise<number> = async () => 0,
  debug = false,
) {
  let out = '';
  let err = '';
  const flags = {
    config: { type: 'string', value: 'FILE', help: 'Settings' },
    json: { type: 'boolean', help: 'JSON' },
    prompt: { type: 'string', multiple: true, help: 'Text' },
  } as const;
  const load = async () => ({ run });
  const commands: CommandInfo[] = [
    { name: 'train', summary: 'Trains', usage: 'train', flags, keys: 'train', load },
    { name: 'env', summary: 'Shows', usage: 'env', flags: {}, load },
  ];
  const code = await dispatch(argv, {
    commands,
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    debug,
  });
  return { code, out, err };
}

const fails = (error: unknown) => async () => {
  throw error;
};

describe('arguments', () => {
  it('reach the command as flags and settings', async () => {
    let seen: CommandArguments | undefined;
    const argv = [
      'train',
      'seed=1',
      '--json',
      '--config',
      'a.yaml',
      '--prompt=x',
      '--prompt',
      'y',
      'task.system=a=b c',
    ];
    const { code } = await grpo(argv, async (args) => {
      seen = args;
      return 0;
    });
    expect(code).toBe(0);
    expect(seen).toEqual({
      flags: { json: true, config: 'a.yaml', prompt: ['x', 'y'] },
      settings: ['seed=1', 'task.system=a=b c'],
      operands: [],
    });
  });

  it.each([
    [['train', '--jsn'], /Unknown flag --jsn\. The nearest known flag is --json\./],
    [['train', '--rollout.group=4'], /rollout\.group is a setting, not a flag: write rollout\.group=VALUE/],
    [['train', '--json=1'], /--json takes no value\./],
    [['train', '--config'], /--config needs a value: --config FILE\./],
    [['train', '--config', '--json'], /--config needs a value: --config FILE\./],
    [['train', 'fast'], /Unexpected 'fast': settings are written key=value\./],
    [['train', 'a.yaml'], /Unexpected 'a\.yaml': .*a file of them is --config a\.yaml/],
    [['env', 'seed=1'], /Unexpected 'seed=1': grpo env takes only flags/],
    [['trian'], /Unknown command 'trian'\. The nearest known command is train\./],
    [[], /Usage: grpo COMMAND/],
  ])('%j is a usage error', async (argv, message) => {
    const { code, out, err } = await grpo(argv);
    expect(code).toBe(2);
    expect(err).toMatch(message);
    expect(out).toBe('');
    expect(err).not.toContain('    at ');
  });

  it('ask for help anywhere, on standard output', async () => {
    for (const argv of [['--help'], ['-h'], ['help']]) {
      expect(await grpo(argv)).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringContaining('Usage: grpo COMMAND'),
      });
    }
    for (const argv of [
      ['train', '--help'],
      ['train', 'seed=1', '-h'],
      ['help', 'train'],
    ]) {
      expect(await grpo(argv)).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringMatching(/\n {2}rollout\. +prompts, group/),
      });
    }
    for (const argv of [
      ['train', '--help', 'rollout', '--json'],
      ['train', 'seed=1', '-h', 'rollout', 'kl.beta=1'],
      ['help', 'train', 'rollout'],
    ]) {
      expect(await grpo(argv)).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringMatching(/^rollout\n.* {2}rollout\.group=8 /s),
      });
    }
    expect((await grpo(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('exit codes and messages', () => {
  it('return what the command returns', async () => {
    expect((await grpo(['train'], async () => 130)).code).toBe(130);
  });

  it('print a UserError as one message with its hint', async () => {
    const error = new UserError('The file a.jsonl is empty.', {
      hint: 'Give another.',
      cause: new Error('inner'),
    });
    expect(await grpo(['train'], fails(error))).toEqual({
      code: 1,
      out: '',
      err: 'grpo: The file a.jsonl is empty.\nGive another.\n',
    });
  });

  it('give 2 for a wrong configuration', async () => {
    const { code, err } = await grpo(['train', 'sed=1'], async ({ settings }) => {
      resolveConfig({ command: 'train', settings });
      return 0;
    });
    expect(code).toBe(2);
    expect(err).toBe(
      'grpo: Unknown key sed (command line). The nearest known key is seed.\ngrpo train --help lists the keys.\n',
    );
  });

  it('print what went wrong first where closing files failed as well', async () => {
    const body = async () => {
      await using _file = {
        async [Symbol.asyncDispose]() {
          throw new Error('not closed');
        },
      };
      throw new UserError('The disk is full.');
    };
    const { err } = await grpo(['train'], body);
    expect(err).toBe('grpo: The disk is full.\n');
  });

  it('say how to get the tensor engine where its package is not there', async () => {
    const message = "Cannot find package '@grpo/torch' imported from /x/env.js";
    const { code, err } = await grpo(
      ['train'],
      fails(Object.assign(new Error(message), { code: 'ERR_MODULE_NOT_FOUND' })),
    );
    expect(code).toBe(1);
    expect(err).toMatch(
      /^grpo: Cannot find package .*\nThat is the tensor engine\. Run: npm install @grpo\/torch/,
    );
  });

  it('show a stack only when asked', async () => {
    const error = new TypeError('x is not a function', { cause: new Error('libtorch says no') });
    const quiet = await grpo(['train'], fails(error));
    expect(quiet.code).toBe(1);
    expect(quiet.err).toBe(
      'grpo: x is not a function\nCause: libtorch says no\nGRPO_DEBUG=1 shows where this happened.\n',
    );
    expect((await grpo(['train'], fails(error), true)).err).toMatch(/\n {4}at .*dispatch\.test/);
    expect((await grpo(['train'], fails('text'))).err).toBe('grpo: text\n');
  });
});
