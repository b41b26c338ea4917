import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { hubCache, hubEndpoint, hubToken } from './hub-settings.js';

describe('the cache', () => {
  // Where huggingface_hub 1.33 looks, by its constants.py.
  it.each([
    [{}, join(homedir(), '.cache/huggingface/hub')],
    [{ XDG_CACHE_HOME: '/x' }, '/x/huggingface/hub'],
    [{ HF_HOME: '/h', XDG_CACHE_HOME: '/x' }, '/h/hub'],
    [{ HF_HOME: '~/h' }, join(homedir(), 'h/hub')],
    [{ HUGGINGFACE_HUB_CACHE: '/old', HF_HOME: '/h' }, '/old'],
    [{ HF_HUB_CACHE: '/c', HUGGINGFACE_HUB_CACHE: '/old' }, '/c'],
  ])('with %o is %s', (env, folder) => {
    expect(hubCache(env)).toBe(folder);
  });
});

describe('the endpoint', () => {
  it('is that of HF_ENDPOINT', () => {
    expect(hubEndpoint({})).toBe('https://huggingface.co');
    expect(hubEndpoint({ HF_ENDPOINT: 'http://mirror.example:8080/hub/' })).toBe(
      'http://mirror.example:8080/hub',
    );
  });

  it.each(['mirror.example', 'ftp://mirror.example'])('is not %s', (HF_ENDPOINT) => {
    expect(() => hubEndpoint({ HF_ENDPOINT })).toThrow(
      `HF_ENDPOINT must be the address of a hub, found '${HF_ENDPOINT}'`,
    );
  });
});

describe('the token', () => {
  it('comes from the environment, or from the file of hf auth login', () => {
    const folder = tempFolder();
    expect(hubToken({ HF_HOME: folder })).toBeUndefined();
    const file = join(folder, 'token');
    writeFileSync(file, 'hf_file\n');
    expect(hubToken({ HF_HOME: folder })).toEqual({ value: 'hf_file', source: file });
    expect(hubToken({ HF_TOKEN_PATH: file })).toEqual({ value: 'hf_file', source: file });
    expect(hubToken({ HF_HOME: folder, HF_TOKEN: 'hf_env' })).toEqual({
      value: 'hf_env',
      source: 'HF_TOKEN',
    });
    expect(() => hubToken({ HF_TOKEN_PATH: folder })).toThrow(`cannot read the token file ${folder}`);
  });
});
