/** The packages as npm would install them into an empty project, without a network. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readBuildRecord } from '@grpo/torch/setup';

const WORKSPACE = fileURLToPath(new URL('../../..', import.meta.url));

/** How a program ended. */
export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** What a package's tarball holds. */
export interface Tarball {
  /** Paths of the files, from the package's folder. */
  files: string[];
  /** Bytes, unpacked. */
  size: number;
}

/** A project with the packages in `node_modules`. */
export class Project {
  readonly dir = mkdtempSync(join(tmpdir(), 'grpo install '));
  readonly tarballs: Record<string, Tarball> = {};
  readonly #env: NodeJS.ProcessEnv;

  /** Packs them and unpacks them here. Only what they declare as dependencies is there beside them. */
  constructor() {
    this.write('package.json', '{"type": "module"}');
    // The libtorch of this clone, and a cache of its own: what the set-up finds there does not depend on the user.
    const { libtorch, addon, key } = readBuildRecord()!;
    const cache = join(this.dir, 'cache');
    this.#env = { ...process.env, LIBTORCH: libtorch.root, XDG_CACHE_HOME: cache };
    mkdirSync(join(cache, 'grpo/addon'), { recursive: true });
    copyFileSync(addon, join(cache, `grpo/addon/${key}.node`));
    const dependencies = ['torch', 'studio', 'grpo'].flatMap((folder) => this.#unpack(folder));
    for (const name of dependencies) if (!existsSync(this.#module(name))) this.#link(name);
    // What the compiler needs, and no program.
    for (const name of ['typescript', '@types/node']) this.#link(name);
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.dir, file)), { recursive: true });
    writeFileSync(join(this.dir, file), text);
  }

  /** Runs `node ARGV` in the project. */
  node(...argv: string[]): Ended {
    return this.#run(process.execPath, argv);
  }

  /** Runs a package's command of the same name, as npx would. */
  npx(name: string, ...argv: string[]): Ended {
    return this.node(join(this.#module(name), this.#manifest(name).bin[name]!), ...argv);
  }

  #unpack(folder: string): string[] {
    const packed = this.#run('npm', [
      'pack',
      join(WORKSPACE, 'packages', folder),
      '--json',
      `--cache=${join(this.dir, 'npm')}`,
    ]);
    const [{ name, filename, files, unpackedSize }] = JSON.parse(packed.out);
    this.tarballs[name] = { files: files.map(({ path }: { path: string }) => path), size: unpackedSize };
    mkdirSync(this.#module(name), { recursive: true });
    const unpacked = this.#run('tar', ['-xzf', filename, '-C', this.#module(name), '--strip-components=1']);
    if (unpacked.code !== 0) throw new Error(unpacked.err);
    return Object.keys(this.#manifest(name).dependencies ?? {});
  }

  #link(name: string): void {
    const require = createRequire(join(WORKSPACE, 'packages/grpo/package.json'));
    const found = require.resolve.paths(name)!.map((path) => join(path, name));
    mkdirSync(dirname(this.#module(name)), { recursive: true });
    symlinkSync(found.find((path) => existsSync(path))!, this.#module(name), 'junction');
  }

  #module(name: string): string {
    return join(this.dir, 'node_modules', name);
  }

  #manifest(name: string): { bin: Record<string, string>; dependencies?: Record<string, string> } {
    return JSON.parse(readFileSync(join(this.#module(name), 'package.json'), 'utf8'));
  }

  #run(command: string, argv: string[]): Ended {
    const { status, stdout, stderr } = spawnSync(command, argv, {
      cwd: this.dir,
      env: this.#env,
      encoding: 'utf8',
    });
    return { code: status, out: stdout, err: stderr };
  }
}
