import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { rendezvous } from './rendezvous.js';

const root = new URL('../../../../', import.meta.url);
const page = (path: string) => readFileSync(new URL(path, root), 'utf8');

describe('docs/scale.md', () => {
  it('has the tables that bench/network.mjs prints', () => {
    const printed = execFileSync(process.execPath, [fileURLToPath(new URL('bench/network.mjs', root))], {
      encoding: 'utf8',
    });
    const tables = printed.trimEnd().split('\n\n');
    expect(tables).toHaveLength(4);
    for (const table of tables) expect(page('docs/scale.md')).toContain(table);
  });

  it('has a JobSet in which each pod finds rank 0', () => {
    const { metadata, spec } = parse(page('docs/scale/jobset.yaml'));
    const [{ name, template }] = spec.replicatedJobs;
    const { completions, template: pod } = template.spec;
    const [{ env }] = pod.spec.containers;
    const set = Object.fromEntries(env.map((one: { name: string; value: string }) => [one.name, one.value]));
    expect(rendezvous({ ...set, JOB_COMPLETION_INDEX: '3' })).toMatchObject({
      rank: completions - 1,
      size: completions,
      // JobSet's name of the first pod, in the service that it makes.
      host: `${metadata.name}-${name}-0-0.${metadata.name}`,
      servesStore: false,
    });
    expect(rendezvous({ ...set, JOB_COMPLETION_INDEX: '0' })?.servesStore).toBe(true);
  });
});
